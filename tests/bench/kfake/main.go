// Prints the median of how many milliseconds a kfake cluster takes to be there, of as many as are asked for.
package main

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
)

func main() {
	count, err := strconv.Atoi(os.Args[1])
	if err != nil {
		panic(err)
	}
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
