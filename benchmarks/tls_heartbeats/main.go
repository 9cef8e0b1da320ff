// Heartbeats over TLS in closed loop: one member of an own group on each connection. Prints one line of JSON.
//
// groupload, which measures everything else, works on bare sockets. A reply must be the oldest request's and without
// an error; anything else ends the run.
package main

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

var (
	bootstrap = flag.String("bootstrap", "127.0.0.1:9093", "HOST:PORT of a listener that speaks TLS")
	authority = flag.String("ca", "", "PEM file of the authority; empty: plain text")
	conns     = flag.Int("conns", 64, "connections")
	pipeline  = flag.Int("pipeline", 1, "requests in flight on each")
	seconds   = flag.Float64("seconds", 5, "how long is measured, after a fifth of it that is not")
	pid       = flag.Int("pid", 0, "the server's process, for its CPU time")
)

type wire struct {
	net    io.ReadWriteCloser
	reader *bufio.Reader
	next   int32
}

func dial() *wire {
	config := &tls.Config{MinVersion: tls.VersionTLS13}
	if *authority != "" {
		pem, err := os.ReadFile(*authority)
		must(err)
		config.RootCAs = x509.NewCertPool()
		config.RootCAs.AppendCertsFromPEM(pem)
	}
	conn, err := tls.Dial("tcp", *bootstrap, config)
	must(err)
	return &wire{net: conn, reader: bufio.NewReader(conn)}
}

func frame(request kmsg.Request, version int16) []byte {
	request.SetVersion(version)
	data := make([]byte, 4, 128)
	data = binary.BigEndian.AppendUint16(data, uint16(request.Key()))
	data = binary.BigEndian.AppendUint16(data, uint16(version))
	data = append(data, 0, 0, 0, 0, 0, 1, 'b') // the correlation id, and a client id
	data = request.AppendTo(data)
	binary.BigEndian.PutUint32(data, uint32(len(data)-4))
	return data
}

func (w *wire) read() (int32, []byte) {
	var size [4]byte
	_, err := io.ReadFull(w.reader, size[:])
	must(err)
	body := make([]byte, binary.BigEndian.Uint32(size[:]))
	_, err = io.ReadFull(w.reader, body)
	must(err)
	return int32(binary.BigEndian.Uint32(body)), body[4:]
}

func (w *wire) ask(request kmsg.Request, version int16, response kmsg.Response) {
	_, err := w.net.Write(frame(request, version))
	must(err)
	_, body := w.read()
	response.SetVersion(version)
	must(response.ReadFrom(body))
}

// member joins a group of its own and returns its heartbeat.
func (w *wire) member(number int) []byte {
	group := fmt.Sprintf("tls-%d-%d", os.Getpid(), number)
	deadline := time.Now().Add(90 * time.Second)
	for {
		find := kmsg.NewPtrFindCoordinatorRequest()
		find.CoordinatorKey = group
		found := kmsg.NewPtrFindCoordinatorResponse()
		w.ask(find, 2, found)
		join := kmsg.NewPtrJoinGroupRequest()
		join.Group, join.ProtocolType = group, "consumer"
		join.SessionTimeoutMillis, join.RebalanceTimeoutMillis = 30_000, 30_000
		join.Protocols = []kmsg.JoinGroupRequestProtocol{{Name: "range", Metadata: []byte{}}}
		joined := kmsg.NewPtrJoinGroupResponse()
		w.ask(join, 3, joined)
		if found.ErrorCode != 0 || joined.ErrorCode != 0 {
			if time.Now().After(deadline) {
				log.Fatalf("no group: %d, %d", found.ErrorCode, joined.ErrorCode)
			}
			time.Sleep(200 * time.Millisecond)
			continue
		}
		sync := kmsg.NewPtrSyncGroupRequest()
		sync.Group, sync.Generation, sync.MemberID = group, joined.Generation, joined.MemberID
		sync.GroupAssignment = []kmsg.SyncGroupRequestGroupAssignment{{MemberID: joined.MemberID}}
		synced := kmsg.NewPtrSyncGroupResponse()
		w.ask(sync, 2, synced)
		if synced.ErrorCode != 0 {
			log.Fatalf("SyncGroup: %d", synced.ErrorCode)
		}
		beat := kmsg.NewPtrHeartbeatRequest()
		beat.Group, beat.Generation, beat.MemberID = group, joined.Generation, joined.MemberID
		return frame(beat, 2)
	}
}

func (w *wire) send(beat []byte) {
	w.next++
	binary.BigEndian.PutUint32(beat[8:], uint32(w.next))
	_, err := w.net.Write(beat)
	must(err)
}

func main() {
	flag.Parse()
	var made, beating sync.WaitGroup
	var counting, ends atomic.Bool
	var count atomic.Int64
	latencies := make([][]float64, *conns)
	start := make(chan struct{})
	for number := range *conns {
		made.Add(1)
		beating.Add(1)
		go func() {
			defer beating.Done()
			w := dial()
			beat := w.member(number)
			made.Done()
			<-start
			sent := make([]time.Time, *pipeline)
			for slot := range sent {
				sent[slot] = time.Now()
				w.send(beat)
			}
			for expected := int32(1); ; expected++ {
				id, body := w.read()
				if id != expected || len(body) != 6 || body[4] != 0 || body[5] != 0 {
					log.Fatalf("reply %d in the place of %d: % x", id, expected, body)
				}
				slot := int(expected-1) % *pipeline
				if counting.Load() {
					count.Add(1)
					latencies[number] = append(latencies[number], float64(time.Since(sent[slot]).Microseconds()))
				}
				if ends.Load() {
					w.net.Close()
					return
				}
				sent[slot] = time.Now()
				w.send(beat)
			}
		}()
	}
	made.Wait()
	close(start)
	time.Sleep(time.Duration(*seconds / 5 * 1e9))
	cpu, began := cpuSeconds(), time.Now()
	counting.Store(true)
	time.Sleep(time.Duration(*seconds * 1e9))
	counting.Store(false)
	elapsed, used := time.Since(began).Seconds(), cpuSeconds()-cpu
	ends.Store(true)
	beating.Wait()
	every := slices.Concat(latencies...)
	slices.Sort(every)
	total := float64(count.Load())
	report := map[string]float64{"requests_per_s": total / elapsed, "p50_us": at(every, 0.5), "p99_us": at(every, 0.99)}
	if *pid != 0 {
		report["server_us_per_request"], report["server_cores"] = used*1e6/total, used/elapsed
	}
	line, err := json.Marshal(report)
	must(err)
	fmt.Println(string(line))
}

func at(sorted []float64, share float64) float64 {
	return sorted[int(share*float64(len(sorted)-1))]
}

// cpuSeconds is what the server has used so far, user and system, in steps of 10 ms.
func cpuSeconds() float64 {
	if *pid == 0 {
		return 0
	}
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", *pid))
	must(err)
	fields := strings.Fields(string(data[strings.LastIndexByte(string(data), ')')+1:]))
	user, err := strconv.ParseFloat(fields[11], 64)
	must(err)
	system, err := strconv.ParseFloat(fields[12], 64)
	must(err)
	return (user + system) / 100
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
