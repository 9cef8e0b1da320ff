// A consumer with franz-go, as tests/clients/company.py talks to it: a part as JSON, orders on stdin, reports on stdout.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"log"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Part is what this consumer is to be.
type Part struct {
	Name        string  `json:"name"`
	Bootstrap   string  `json:"bootstrap"`
	Topic       string  `json:"topic"`
	Group       string  `json:"group"`
	Instance    *string `json:"instance"`
	Cooperative bool    `json:"cooperative"`
	Protocol    string  `json:"protocol"`
	SessionMS   int     `json:"session_timeout_ms"`
	HeartbeatMS int     `json:"heartbeat_interval_ms"`
	MaxPollMS   int     `json:"max_poll_interval_ms"`
}

var reporting sync.Mutex

// now is the wall clock in seconds, by which the reports of several processes compare.
func now() float64 {
	return float64(time.Now().UnixMicro()) / 1e6
}

func report(values ...any) {
	line, err := json.Marshal(values)
	if err != nil {
		log.Fatal(err)
	}
	reporting.Lock()
	defer reporting.Unlock()
	os.Stdout.Write(append(line, '\n'))
}

func main() {
	var part Part
	if err := json.Unmarshal([]byte(os.Args[1]), &part); err != nil {
		log.Fatal(err)
	}
	report("Ready")
	orders := bufio.NewScanner(os.Stdin)
	orders.Scan()
	ctx, stop := context.WithCancel(context.Background())
	if orders.Text() == "stop" {
		stop()
	}
	go func() {
		for orders.Scan() {
			if orders.Text() == "stop" {
				stop()
				return
			}
		}
		os.Exit(3)
	}()
	client, err := kgo.NewClient(options(part)...)
	if err != nil {
		log.Fatal(err)
	}
	consume(ctx, client)
	if part.Instance == nil {
		client.LeaveGroup()
	}
	client.Close()
	report("Closed")
}

func options(part Part) []kgo.Opt {
	told := func(what string) func(context.Context, *kgo.Client, map[string][]int32) {
		return func(_ context.Context, _ *kgo.Client, moved map[string][]int32) {
			partitions := []int32{} // of the one topic, whose name may be a pattern here
			for _, each := range moved {
				partitions = append(partitions, each...)
			}
			report(what, now(), partitions)
		}
	}
	opts := []kgo.Opt{
		kgo.SeedBrokers(strings.Split(part.Bootstrap, ",")...),
		kgo.ClientID(part.Name),
		kgo.ConsumerGroup(part.Group),
		kgo.ConsumeTopics(part.Topic),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.SessionTimeout(time.Duration(part.SessionMS) * time.Millisecond),
		kgo.HeartbeatInterval(time.Duration(part.HeartbeatMS) * time.Millisecond),
		kgo.RebalanceTimeout(time.Duration(part.MaxPollMS) * time.Millisecond),
		kgo.FetchMaxWait(100 * time.Millisecond),
		kgo.AutoCommitInterval(200 * time.Millisecond),
		kgo.AutoCommitMarks(),
		kgo.OnPartitionsAssigned(told("Owns")),
		kgo.OnPartitionsRevoked(func(ctx context.Context, client *kgo.Client, moved map[string][]int32) {
			if err := client.CommitMarkedOffsets(ctx); err != nil && ctx.Err() == nil {
				log.Print(err)
			}
			told("Revoked")(ctx, client, moved)
		}),
		kgo.OnPartitionsLost(told("Revoked")),
	}
	if part.Protocol == "consumer" {
		opts = append(opts, kgo.ServerSideBalancer(), kgo.Balancers(kgo.StickyBalancer())) // asks for uniform
	} else if part.Cooperative {
		opts = append(opts, kgo.Balancers(kgo.CooperativeStickyBalancer()))
	} else {
		opts = append(opts, kgo.Balancers(kgo.RangeBalancer()))
	}
	if strings.HasPrefix(part.Topic, "^") {
		opts = append(opts, kgo.ConsumeRegex())
	}
	if part.Instance != nil {
		opts = append(opts, kgo.InstanceID(*part.Instance))
	}
	return opts
}

func consume(ctx context.Context, client *kgo.Client) {
	for ctx.Err() == nil {
		polling, done := context.WithTimeout(ctx, 100*time.Millisecond)
		fetches := client.PollFetches(polling)
		done()
		ranges := [][3]int64{}
		fetches.EachPartition(func(fetched kgo.FetchTopicPartition) {
			if count := len(fetched.Records); count > 0 {
				first, last := fetched.Records[0].Offset, fetched.Records[count-1].Offset
				ranges = append(ranges, [3]int64{int64(fetched.Partition), first, last})
			}
		})
		if len(ranges) > 0 {
			_, generation := client.GroupMetadata()
			report("Consumed", now(), generation, "", ranges)
			client.MarkCommitRecords(fetches.Records()...)
		}
	}
	committing, done := context.WithTimeout(context.Background(), 10*time.Second)
	defer done()
	if err := client.CommitMarkedOffsets(committing); err != nil {
		log.Print(err)
	}
}
