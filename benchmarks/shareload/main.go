// shareload loads a broker's share groups, and prints one line of JSON: how many records a second are given out and
// accepted, and what the broker's memory is with many records in flight, in whole ranges and in pieces.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

var (
	bootstrap  = flag.String("bootstrap", "127.0.0.1:9092", "address of the broker, which is alone")
	partitions = flag.Int("partitions", 100, "partitions of the topic")
	inFlight   = flag.Int("in-flight", 1000, "records of each partition that are held at the same time")
	members    = flag.Int("members", 4, "members, each with a connection and a share of the partitions")
	duration   = flag.Duration("duration", 5*time.Second, "how long records are accepted")
	records    = flag.Int("records", 20000, "records of each partition; a run ends early without more")
	pid        = flag.Int("pid", 0, "process of the broker, for its memory and processor time")
)

const (
	batch    = 1000 // records in a batch
	most     = 500  // records asked for at a time, as clients do
	accept   = 1
	release  = 2
	patience = time.Minute
)

var ctx = context.Background()

// member is one connection with one share session.
type member struct {
	client *kgo.Client
	id     string
	group  string
	topic  [16]byte
	own    []int32
	epoch  int32
}

func check(what string, err error) {
	if err != nil {
		log.Fatalf("%s: %v", what, err)
	}
}

func newClient() *kgo.Client {
	client, err := kgo.NewClient(kgo.SeedBrokers(*bootstrap))
	check("client", err)
	return client
}

// broker is the only one; its id is asked once.
func (m *member) broker() *kgo.Broker {
	return m.client.Broker(int(node))
}

var node int32

func main() {
	flag.Parse()
	admin := newClient()
	name := fmt.Sprintf("shareload-%d", time.Now().UnixNano())
	topic := prepare(admin, name)
	readyWithin(admin, name)
	all := make([]*member, *members)
	for n := range all {
		all[n] = &member{client: newClient(), id: fmt.Sprintf("%s-%d", name[len(name)-8:], n), group: name, topic: topic}
		for p := n; p < *partitions; p += *members {
			all[n].own = append(all[n].own, int32(p))
		}
	}
	out := map[string]any{"partitions": *partitions, "in_flight": *partitions * *inFlight, "members": *members}
	begin := rss()
	began := time.Now()
	held := together(all, func(m *member) int64 { return m.hold() })
	out["acquire_records_per_s"] = perSecond(held, began)
	out["held"] = held
	out["bytes_per_record_whole"] = perRecord(rss()-begin, held)
	began, torn := time.Now(), cpu()
	together(all, func(m *member) int64 { return m.tear() })
	out["tear_s"] = time.Since(began).Seconds()
	out["tear_server_s"] = cpu() - torn
	out["bytes_per_record_in_pieces"] = perRecord(rss()-begin, held)
	together(all, func(m *member) int64 { return m.let() })
	used, started := cpu(), time.Now()
	until := started.Add(*duration)
	done := together(all, func(m *member) int64 { return m.work(until) })
	out["records_per_s"] = perSecond(done, started)
	out["records"] = done
	out["requests"] = requests.Load()
	out["server_us_per_record"] = (cpu() - used) / float64(max(done, 1)) * 1e6
	line, err := json.Marshal(out)
	check("result", err)
	fmt.Println(string(line))
}

func together(all []*member, do func(*member) int64) (sum int64) {
	var group sync.WaitGroup
	var total atomic.Int64
	for _, m := range all {
		group.Add(1)
		go func() {
			defer group.Done()
			total.Add(do(m))
		}()
	}
	group.Wait()
	return total.Load()
}

func perSecond(count int64, since time.Time) float64 {
	return float64(count) / time.Since(since).Seconds()
}

func perRecord(bytes, count int64) float64 { return float64(bytes) / float64(max(count, 1)) }

// prepare makes the topic, fills it, and has its group begin at the beginning.
func prepare(admin *kgo.Client, name string) (id [16]byte) {
	create := kmsg.NewPtrCreateTopicsRequest()
	t := kmsg.NewCreateTopicsRequestTopic()
	t.Topic, t.NumPartitions, t.ReplicationFactor = name, int32(*partitions), 1
	create.Topics = append(create.Topics, t)
	create.TimeoutMillis = 30000
	created, err := create.RequestWith(ctx, admin)
	check("CreateTopics", err)
	check("CreateTopics", kerr.ErrorForCode(created.Topics[0].ErrorCode))
	metadata, err := kmsg.NewPtrMetadataRequest().RequestWith(ctx, admin)
	check("Metadata", err)
	node = metadata.Brokers[0].NodeID
	alter := kmsg.NewPtrIncrementalAlterConfigsRequest()
	r := kmsg.NewIncrementalAlterConfigsRequestResource()
	r.ResourceType, r.ResourceName = kmsg.ConfigResourceTypeGroupConfig, name
	for key, value := range map[string]string{"share.auto.offset.reset": "earliest", "share.partition.max.record.locks": "4000"} {
		c := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
		c.Name, c.Value = key, kmsg.StringPtr(value)
		r.Configs = append(r.Configs, c)
	}
	alter.Resources = append(alter.Resources, r)
	altered, err := alter.RequestWith(ctx, admin)
	check("IncrementalAlterConfigs", err)
	check("IncrementalAlterConfigs", kerr.ErrorForCode(altered.Resources[0].ErrorCode))
	producer, err := kgo.NewClient(kgo.SeedBrokers(*bootstrap), kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.ProducerBatchCompression(kgo.NoCompression()), kgo.DisableIdempotentWrite(), kgo.RequiredAcks(kgo.AllISRAcks()),
		kgo.ProducerLinger(5*time.Millisecond), kgo.MaxBufferedRecords(200_000))
	check("producer", err)
	defer producer.Close()
	for n := 0; n < *records; n += batch {
		for p := 0; p < *partitions; p++ {
			for k := 0; k < batch; k++ {
				record := &kgo.Record{Topic: name, Partition: int32(p), Value: []byte("0123456789")}
				producer.Produce(ctx, record, func(_ *kgo.Record, err error) { check("Produce", err) })
			}
		}
	}
	check("Flush", producer.Flush(ctx))
	return created.Topics[0].TopicID
}

// readyWithin beats as a member until every partition is ready to be fetched from.
func readyWithin(admin *kgo.Client, name string) {
	id, epoch, until := "00000000-0000-4000-8000-"+name[len(name)-12:], int32(0), time.Now().Add(patience)
	for {
		beat := kmsg.NewPtrShareGroupHeartbeatRequest()
		beat.GroupID, beat.MemberID, beat.MemberEpoch = name, id, epoch
		if epoch == 0 {
			beat.SubscribedTopicNames = []string{name}
		}
		answer, err := beat.RequestWith(ctx, admin)
		if err == nil && answer.ErrorCode == 0 {
			epoch = answer.MemberEpoch
			if answer.Assignment != nil && len(answer.Assignment.TopicPartitions) > 0 &&
				len(answer.Assignment.TopicPartitions[0].Partitions) == *partitions {
				return
			}
		}
		if time.Now().After(until) {
			log.Fatalf("not all %d partitions are ready after %s: %v %v", *partitions, patience, answer, err)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

type held map[int32][][2]int64

var requests atomic.Int64

// fetch sends acknowledgements, and asks for more; it returns the ranges that it holds from now on.
func (m *member) fetch(acks held, types func(first, last int64) []int8, maxRecords int32) held {
	request := kmsg.NewPtrShareFetchRequest()
	request.GroupID, request.MemberID, request.ShareSessionEpoch = kmsg.StringPtr(m.group), kmsg.StringPtr(m.id), m.epoch
	request.MaxWaitMillis, request.MinBytes, request.MaxBytes = 100, 1, 50<<20
	request.MaxRecords, request.BatchSize = maxRecords, maxRecords
	t := kmsg.NewShareFetchRequestTopic()
	t.TopicID = m.topic
	listed := m.own
	if m.epoch > 0 {
		listed = nil
		for p := range acks {
			listed = append(listed, p)
		}
	}
	for _, p := range listed {
		part := kmsg.NewShareFetchRequestTopicPartition()
		part.Partition = p
		for _, r := range acks[p] {
			b := kmsg.NewShareFetchRequestTopicPartitionAcknowledgementBatch()
			b.FirstOffset, b.LastOffset, b.AcknowledgeTypes = r[0], r[1], types(r[0], r[1])
			part.AcknowledgementBatches = append(part.AcknowledgementBatches, b)
		}
		t.Partitions = append(t.Partitions, part)
	}
	if len(t.Partitions) > 0 {
		request.Topics = append(request.Topics, t)
	}
	answer, err := request.RequestWith(ctx, m.broker())
	check("ShareFetch", err)
	check("ShareFetch", kerr.ErrorForCode(answer.ErrorCode))
	requests.Add(1)
	m.epoch++
	got := held{}
	for _, topic := range answer.Topics {
		for _, part := range topic.Partitions {
			check("ShareFetch, partition", kerr.ErrorForCode(part.ErrorCode))
			check("ShareFetch, acknowledgement", kerr.ErrorForCode(part.AcknowledgeErrorCode))
			for _, r := range part.AcquiredRecords {
				got[part.Partition] = append(got[part.Partition], [2]int64{r.FirstOffset, r.LastOffset})
			}
		}
	}
	return got
}

func one(kind int8) func(int64, int64) []int8 {
	return func(int64, int64) []int8 { return []int8{kind} }
}

func (h held) count() (n int64) {
	for _, ranges := range h {
		for _, r := range ranges {
			n += r[1] - r[0] + 1
		}
	}
	return n
}

var holding sync.Map // by member id, what it holds

// hold takes the records that are to be in flight.
func (m *member) hold() (n int64) {
	mine := held{}
	for want := int64(len(m.own) * *inFlight); n < want; {
		got := m.fetch(nil, nil, int32(min(want-n, 10_000)))
		for p, ranges := range got {
			mine[p] = append(mine[p], ranges...)
		}
		if n += got.count(); got.count() == 0 {
			break
		}
	}
	holding.Store(m.id, mine)
	return n
}

// tear gives back every other record, so that what is in flight is in pieces of one record.
func (m *member) tear() int64 {
	value, _ := holding.Load(m.id)
	acknowledge := kmsg.NewPtrShareAcknowledgeRequest()
	return m.acknowledge(acknowledge, value.(held), func(first, last int64) []int8 {
		types := make([]int8, last-first+1)
		for n := range types {
			types[n] = accept
			if n%2 == 0 {
				types[n] = release
			}
		}
		return types
	})
}

// let takes and accepts what was given back.
func (m *member) let() (n int64) {
	for mine := m.fetch(nil, nil, 10_000); ; {
		count := mine.count()
		if n += count; count == 0 || n >= int64(len(m.own)**inFlight/2) {
			m.acknowledge(kmsg.NewPtrShareAcknowledgeRequest(), mine, one(accept))
			return n
		}
		mine = m.fetch(mine, one(accept), 10_000)
	}
}

func (m *member) acknowledge(request *kmsg.ShareAcknowledgeRequest, mine held, types func(first, last int64) []int8) int64 {
	if len(mine) == 0 {
		return 0
	}
	request.GroupID, request.MemberID, request.ShareSessionEpoch = kmsg.StringPtr(m.group), kmsg.StringPtr(m.id), m.epoch
	t := kmsg.NewShareAcknowledgeRequestTopic()
	t.TopicID = m.topic
	for p, ranges := range mine {
		part := kmsg.NewShareAcknowledgeRequestTopicPartition()
		part.Partition = p
		for _, r := range ranges {
			b := kmsg.NewShareAcknowledgeRequestTopicPartitionAcknowledgementBatch()
			b.FirstOffset, b.LastOffset, b.AcknowledgeTypes = r[0], r[1], types(r[0], r[1])
			part.AcknowledgementBatches = append(part.AcknowledgementBatches, b)
		}
		t.Partitions = append(t.Partitions, part)
	}
	request.Topics = append(request.Topics, t)
	answer, err := request.RequestWith(ctx, m.broker())
	check("ShareAcknowledge", err)
	check("ShareAcknowledge", kerr.ErrorForCode(answer.ErrorCode))
	m.epoch++
	for _, topic := range answer.Topics {
		for _, part := range topic.Partitions {
			check("ShareAcknowledge, partition", kerr.ErrorForCode(part.ErrorCode))
		}
	}
	return mine.count()
}

// work accepts what it was given with the request for more, as clients do.
func (m *member) work(until time.Time) (n int64) {
	mine := held{}
	for empty := 0; time.Now().Before(until) && empty < 20; {
		mine = m.fetch(mine, one(accept), most)
		count := mine.count()
		n += count
		if count == 0 {
			empty++
		}
	}
	m.acknowledge(kmsg.NewPtrShareAcknowledgeRequest(), mine, one(accept))
	return n
}

// rss is the broker's memory in bytes, 0 without a process.
func rss() int64 {
	if *pid == 0 {
		return 0
	}
	time.Sleep(500 * time.Millisecond)
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", *pid))
	check("memory", err)
	pages, err := strconv.ParseInt(strings.Fields(string(text))[1], 10, 64)
	check("memory", err)
	return pages * int64(os.Getpagesize())
}

// cpu is the broker's processor time in seconds.
func cpu() float64 {
	if *pid == 0 {
		return 0
	}
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", *pid))
	nanoseconds := 0.0
	for _, thread := range threads {
		if text, err := os.ReadFile(thread); err == nil { // else the thread has ended
			spent, err := strconv.ParseFloat(strings.Fields(string(text))[0], 64)
			check("processor time", err)
			nanoseconds += spent
		}
	}
	if nanoseconds > 0 {
		return nanoseconds / 1e9
	}
	// a kernel without them reports ticks of 10 ms
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", *pid))
	check("processor time", err)
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	user, err := strconv.ParseFloat(fields[11], 64)
	check("processor time", err)
	system, err := strconv.ParseFloat(fields[12], 64)
	check("processor time", err)
	return (user + system) / 100
}
