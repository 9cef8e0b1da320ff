// A consumer with sarama, as tests/clients/company.py talks to it: a part as JSON, orders on stdin, reports on stdout.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"log"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/IBM/sarama"
)

// Part is what this consumer is to be.
type Part struct {
	Name        string  `json:"name"`
	Bootstrap   string  `json:"bootstrap"`
	Topic       string  `json:"topic"`
	Group       string  `json:"group"`
	Instance    *string `json:"instance"`
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
	group, err := sarama.NewConsumerGroup(strings.Split(part.Bootstrap, ","), part.Group, settings(part))
	if err != nil {
		log.Fatal(err)
	}
	for ctx.Err() == nil {
		err := group.Consume(ctx, []string{part.Topic}, handler{part.Topic})
		if err != nil && !errors.Is(err, sarama.ErrClosedConsumerGroup) {
			log.Print(err)
		}
	}
	if err := group.Close(); err != nil {
		log.Print(err)
	}
	report("Closed")
}

func settings(part Part) *sarama.Config {
	config := sarama.NewConfig()
	config.Version = sarama.V2_8_0_0
	config.ClientID = part.Name
	config.Consumer.Offsets.Initial = sarama.OffsetOldest
	config.Consumer.Offsets.AutoCommit.Interval = 200 * time.Millisecond
	config.Consumer.MaxWaitTime = 100 * time.Millisecond
	config.Consumer.Group.Session.Timeout = time.Duration(part.SessionMS) * time.Millisecond
	config.Consumer.Group.Heartbeat.Interval = time.Duration(part.HeartbeatMS) * time.Millisecond
	config.Consumer.Group.Rebalance.Timeout = time.Duration(part.MaxPollMS) * time.Millisecond
	config.Consumer.Group.Rebalance.GroupStrategies = []sarama.BalanceStrategy{sarama.NewBalanceStrategyRange()}
	if part.Instance != nil {
		config.Consumer.Group.InstanceId = *part.Instance
	}
	return config
}

type handler struct{ topic string }

func (h handler) Setup(session sarama.ConsumerGroupSession) error {
	report("Owns", now(), append([]int32{}, session.Claims()[h.topic]...))
	return nil
}

func (h handler) Cleanup(session sarama.ConsumerGroupSession) error {
	report("Revoked", now(), append([]int32{}, session.Claims()[h.topic]...))
	return nil
}

func (h handler) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for {
		select {
		case message, open := <-claim.Messages():
			if !open {
				return nil
			}
			offset := message.Offset
			report("Consumed", now(), session.GenerationID(), "", [][3]int64{{int64(message.Partition), offset, offset}})
			session.MarkMessage(message, "")
		case <-session.Context().Done():
			return nil
		}
	}
}
