// A share consumer with franz-go, as tests/clients/sharing.py talks to it: bootstrap, topic, group, name, mode and most
// records as arguments; reports on stdout; on stdin how each record of a poll is acknowledged, and "stop".
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

var statuses = map[string]kgo.AckStatus{
	"accept": kgo.AckAccept, "release": kgo.AckRelease, "reject": kgo.AckReject, "renew": kgo.AckRenew,
}

var failures struct {
	sync.Mutex
	last string
}

func report(values ...any) {
	line, err := json.Marshal(values)
	if err != nil {
		log.Fatal(err)
	}
	os.Stdout.Write(append(line, '\n'))
}

func main() {
	explicit := os.Args[5] == "explicit"
	most, err := strconv.Atoi(os.Args[6])
	if err != nil {
		log.Fatal(err)
	}
	client, err := kgo.NewClient(
		kgo.SeedBrokers(strings.Split(os.Args[1], ",")...),
		kgo.ConsumeTopics(os.Args[2]),
		kgo.ShareGroup(os.Args[3]),
		kgo.ClientID(os.Args[4]),
		kgo.ShareMaxRecords(int32(most)),
		kgo.FetchMaxWait(100*time.Millisecond),
		kgo.ShareAckCallback(func(_ *kgo.Client, results kgo.ShareAckResults) {
			if err := results.Error(); err != nil {
				failures.Lock()
				failures.last = err.Error()
				failures.Unlock()
			}
		}),
	)
	if err != nil {
		log.Fatal(err)
	}
	orders := make(chan string)
	go func() {
		lines := bufio.NewScanner(os.Stdin)
		for lines.Scan() {
			orders <- lines.Text()
		}
		orders <- "stop"
	}()
	idle := true
	for consume(client, orders, explicit, &idle) {
	}
	client.Close()
	report("Closed")
}

// consume polls once and acknowledges the records. It returns false if it must stop.
func consume(client *kgo.Client, orders chan string, explicit bool, idle *bool) bool {
	polling, done := context.WithTimeout(context.Background(), 100*time.Millisecond)
	records := client.PollFetches(polling).Records()
	done()
	open := map[string]*kgo.Record{}
	got := [][3]int64{}
	for _, record := range records {
		open[fmt.Sprintf("%d,%d", record.Partition, record.Offset)] = record
		got = append(got, [3]int64{int64(record.Partition), record.Offset, int64(record.DeliveryCount())})
	}
	if len(got) > 0 {
		report("Got", got)
	} else if !*idle {
		report("Idle")
	}
	*idle = len(got) == 0
	for explicit && len(open) > 0 {
		order := <-orders
		if order == "stop" {
			return false
		}
		acknowledge(client, open, order)
	}
	select {
	case order := <-orders:
		return order != "stop"
	default:
		return true
	}
}

func acknowledge(client *kgo.Client, open map[string]*kgo.Record, order string) {
	for _, each := range strings.Fields(order) {
		at := strings.LastIndex(each, ",")
		place, status := each[:at], statuses[each[at+1:]]
		open[place].Ack(status)
		if status != kgo.AckRenew {
			delete(open, place)
		}
	}
	flushing, done := context.WithTimeout(context.Background(), 30*time.Second)
	defer done()
	err := client.FlushAcks(flushing)
	failures.Lock()
	problem := failures.last
	failures.last = ""
	failures.Unlock()
	if err != nil {
		problem = err.Error()
	}
	report("Acknowledged", problem)
}
