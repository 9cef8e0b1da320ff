// kfake, to compare with: `clusters COUNT` prints the median of how many milliseconds a cluster takes to be there;
// `serve` is one broker, until it is told to end.
package main

import (
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
)

func main() {
	switch {
	case len(os.Args) == 3 && os.Args[1] == "clusters":
		count, err := strconv.Atoi(os.Args[2])
		if err != nil {
			panic(err)
		}
		clusters(count)
	case len(os.Args) == 2 && os.Args[1] == "serve":
		serve()
	default:
		fmt.Fprintln(os.Stderr, "usage: kfake clusters COUNT | serve")
		os.Exit(2)
	}
}

func clusters(count int) {
	made() // the first one, as with kohort, does not count
	took := make([]time.Duration, count)
	for i := range took {
		took[i] = made()
	}
	slices.Sort(took)
	fmt.Println(float64(took[count/2].Microseconds()) / 1000)
}

func made() time.Duration {
	start := time.Now()
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1))
	if err != nil {
		panic(err)
	}
	defer cluster.Close()
	return time.Since(start)
}

func serve() {
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.AllowAutoTopicCreation(), kfake.DefaultNumPartitions(4),
		kfake.GroupMinSessionTimeout(100*time.Millisecond))
	if err != nil {
		panic(err)
	}
	fmt.Println("READY bootstrap=" + cluster.ListenAddrs()[0])
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, os.Interrupt, syscall.SIGTERM)
	<-stop
	cluster.Close()
}
