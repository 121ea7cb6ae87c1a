package queue

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"sluice/testserver/longtest"
)

// cluster is three servers, as in production.
type cluster struct {
	t       *testing.T
	servers []*server.Server
}

// freePorts finds ports that nobody listens on.
func freePorts(t *testing.T, n int) (ports []int) {
	t.Helper()
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports
}

func startCluster(t *testing.T) *cluster {
	t.Helper()
	c := &cluster{t: t}
	ports := freePorts(t, 3)
	var routes []*url.URL
	for _, p := range ports {
		routes = append(routes, &url.URL{Scheme: "nats", Host: fmt.Sprintf("127.0.0.1:%d", p)})
	}
	for n, p := range ports {
		s, err := server.NewServer(&server.Options{
			ServerName: fmt.Sprint("n", n), Host: "127.0.0.1", Port: -1, JetStream: true, StoreDir: t.TempDir(),
			Cluster: server.ClusterOpts{Name: "test", Host: "127.0.0.1", Port: p}, Routes: routes,
			NoLog: true, NoSigs: true,
		})
		if err != nil {
			t.Fatal(err)
		}
		s.Start()
		t.Cleanup(func() {
			s.Shutdown()
			s.WaitForShutdown()
		})
		c.servers = append(c.servers, s)
	}
	return c
}

func (c *cluster) urls() string {
	var urls []string
	for _, s := range c.servers {
		urls = append(urls, s.ClientURL())
	}
	return strings.Join(urls, ",")
}

// bench connects to the cluster and makes the streams in it.
func (c *cluster) bench() *bench {
	c.t.Helper()
	b := &bench{t: c.t, ackWait: 5 * time.Second}
	b.eventually(func() (err error) {
		if !c.servers[0].JetStreamIsCurrent() {
			return errors.New("no leader yet")
		}
		b.client, err = Connect(c.t.Context(), ConnectConfig{URL: c.urls()})
		return err
	})
	c.t.Cleanup(b.client.Close)
	b.eventually(func() error {
		_, err := b.client.Ensure(c.t.Context(), Topology{Lanes: []Lane{testLane}, Replicas: 3, MaxBytes: 64 << 20, AckWait: b.ackWait})
		return err
	})
	return b
}

// TestFullBucketInACluster gives a message back while its bucket has no room: a cluster refuses even the marker that
// would take out the record that it has.
func TestFullBucketInACluster(t *testing.T) {
	longtest.Only(t, "a cluster of three servers elects its leaders")
	b := startCluster(t).bench()
	b.journal = b.openJournal(b.client)
	i := b.intake(IntakeConfig{})
	seq := b.publish(testLane, "a")[0]
	b.settle(b.next(i), throttled(State{}, time.Second))
	if r := b.record(seq); r == nil || r.State.Throttles != 1 {
		t.Fatalf("the first record is %+v", r)
	}
	job := b.next(i)
	js := b.client.js
	stream, err := js.Stream(t.Context(), bucketStream(b.client.names.Load().waiting))
	if err != nil {
		t.Fatal(err)
	}
	cfg := stream.CachedInfo().Config
	cfg.MaxBytes = 1 // it holds more
	if _, err := js.UpdateStream(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	b.settle(job, throttled(job.State(), time.Second))
	if r := b.record(seq); r != nil {
		t.Errorf("the bucket has %+v still, which is not what happened last", r)
	}
	job = b.next(i)
	if got := job.State().Throttles; got != 2 {
		t.Errorf("the next delivery knows of %d throttles, want 2", got)
	}
	b.settle(job, submitted("x"))
	b.queueEmpty()
}

// TestLeaderChange moves the consumer's leader about, and then the client from
// server to server.
func TestLeaderChange(t *testing.T) {
	longtest.Only(t, "a cluster of three servers elects its leaders")
	cl := startCluster(t)
	b := cl.bench()
	b.journal = b.openJournal(b.client)
	i := b.intake(IntakeConfig{})
	settled := make(chan Job, 1000)
	for range 4 {
		b.caller(i, settled)
	}
	b.waiting(i, 4)

	seen := make(map[uint64]bool)
	send := func(round int) {
		t.Helper()
		for n := range 20 {
			b.eventually(func() error {
				_, _, err := b.client.Publish(t.Context(), "main", "otp", testMessage(fmt.Sprint(round, "-", n)))
				return err
			})
		}
		for range 20 {
			job := b.receive(settled)
			if seen[job.Seq()] {
				t.Errorf("message %d was handed out twice", job.Seq())
			}
			seen[job.Seq()] = true
		}
	}
	send(0)
	for round := range 3 {
		reply, err := b.client.nc.Request("$JS.API.CONSUMER.LEADER.STEPDOWN.SMS_MT."+durable(testLane), nil, 5*time.Second)
		if err != nil || !strings.Contains(string(reply.Data), `"success":true`) {
			t.Fatalf("step down: %v, %v", reply, err)
		}
		send(round + 1)
	}
	for round := range 3 {
		at, id := b.client.nc.ConnectedServerId(), uint64(0)
		b.eventually(func() (err error) {
			id, err = b.client.nc.GetClientID()
			return err
		})
		for _, s := range cl.servers {
			if s.ID() == at {
				if err := s.DisconnectClientByID(id); err != nil {
					t.Fatal(err)
				}
			}
		}
		b.eventually(func() error {
			if !b.client.nc.IsConnected() || b.client.nc.Stats().Reconnects == uint64(round) {
				return errors.New("not connected again")
			}
			return nil
		})
		send(round + 4)
	}
}
