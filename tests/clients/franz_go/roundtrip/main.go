// A record there and back with franz-go at a secured cluster, as tests/clients/test_secured_libraries.py asks for it:
// who comes in, and how, as JSON; prints what it has read.
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"
)

// Trip says where to, and as whom.
type Trip struct {
	Bootstrap   string `json:"bootstrap"`
	Topic       string `json:"topic"`
	Group       string `json:"group"`
	Authority   string `json:"authority"`
	Certificate string `json:"certificate"`
	Mechanism   string `json:"mechanism"`
	User        string `json:"user"`
	Password    string `json:"password"`
}

func main() {
	log.SetOutput(os.Stdout)
	var trip Trip
	must(json.Unmarshal([]byte(os.Args[1]), &trip))
	ctx, done := context.WithTimeout(context.Background(), 60*time.Second)
	defer done()
	client, err := kgo.NewClient(
		append(entry(trip),
			kgo.SeedBrokers(strings.Split(trip.Bootstrap, ",")...),
			kgo.ConsumerGroup(trip.Group),
			kgo.ConsumeTopics(trip.Topic),
			kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
			kgo.RequestRetries(0),
		)...)
	must(err)
	defer client.Close()
	must(client.Ping(ctx)) // a producer would go on trying, whatever it hears
	must(client.ProduceSync(ctx, &kgo.Record{Topic: trip.Topic, Value: []byte("hello")}).FirstErr())
	for {
		fetches := client.PollFetches(ctx)
		must(fetches.Err())
		if records := fetches.Records(); len(records) > 0 {
			must(client.CommitRecords(ctx, records...))
			fmt.Println(string(records[0].Value))
			return
		}
	}
}

func entry(trip Trip) []kgo.Opt {
	pem, err := os.ReadFile(trip.Authority)
	must(err)
	trusted := x509.NewCertPool()
	trusted.AppendCertsFromPEM(pem)
	config := &tls.Config{RootCAs: trusted}
	if trip.Certificate != "" {
		own, err := tls.LoadX509KeyPair(trip.Certificate, trip.Certificate)
		must(err)
		config.Certificates = []tls.Certificate{own}
	}
	opts := []kgo.Opt{kgo.DialTLSConfig(config)}
	who := scram.Auth{User: trip.User, Pass: trip.Password}
	switch trip.Mechanism {
	case "SCRAM-SHA-256":
		opts = append(opts, kgo.SASL(who.AsSha256Mechanism()))
	case "SCRAM-SHA-512":
		opts = append(opts, kgo.SASL(who.AsSha512Mechanism()))
	case "PLAIN":
		opts = append(opts, kgo.SASL(plain.Auth{User: trip.User, Pass: trip.Password}.AsMechanism()))
	}
	return opts
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
