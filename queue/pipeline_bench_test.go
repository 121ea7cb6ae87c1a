package queue

import (
	"context"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

const (
	benchMessages = 30_000
	benchWindow   = 100
)

// BenchmarkPipeline takes messages from the queue and settles them as
// submitted, beside JetStream alone doing the same work by hand: consume,
// publish an event, acknowledge once it is confirmed. As in the gateway, a place
// in the window is free again before its message is settled. What counts is the
// ratio of the two in one run:
//
//	go test -run '^$' -bench Pipeline -benchtime 3x ./queue
func BenchmarkPipeline(b *testing.B) {
	for name, receipts := range map[string]bool{"events": false, "receipts": true} {
		b.Run(name, func(b *testing.B) {
			var alone, ours benchCost
			for range b.N {
				alone.add(benchAlone(b))
				ours.add(benchQueue(b, receipts))
			}
			messages := float64(b.N * benchMessages)
			b.ReportMetric(messages/alone.wall.Seconds(), "alone_msg/s")
			b.ReportMetric(messages/ours.wall.Seconds(), "queue_msg/s")
			b.ReportMetric(alone.wall.Seconds()/ours.wall.Seconds(), "ratio")
			b.ReportMetric(alone.cpu.Seconds()/messages*1e6, "alone_cpu_µs/msg")
			b.ReportMetric(ours.cpu.Seconds()/messages*1e6, "queue_cpu_µs/msg")
			b.ReportMetric(alone.cpu.Seconds()/ours.cpu.Seconds(), "cpu_ratio")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// benchCost is what a run took, client and server together.
type benchCost struct{ wall, cpu time.Duration }

func (c *benchCost) add(more benchCost) {
	c.wall += more.wall
	c.cpu += more.cpu
}

// benchMeter starts to measure; the function it returns ends that.
func benchMeter(b *testing.B) (read func() benchCost) {
	b.Helper()
	cpu := func() time.Duration {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			b.Fatal(err)
		}
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	began, used := time.Now(), cpu()
	return func() benchCost { return benchCost{time.Since(began), cpu() - used} }
}

// benchFilled is a client of a fresh server with the queue filled.
func benchFilled(b *testing.B) *Client {
	b.Helper()
	server, err := StartEmbedded(EmbeddedConfig{Dir: b.TempDir(), Listen: "127.0.0.1:-1"})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(server.Shutdown)
	c, err := Connect(b.Context(), ConnectConfig{URL: server.URL()})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(c.Close)
	if _, err := c.Ensure(b.Context(), Topology{Lanes: []Lane{testLane}}); err != nil {
		b.Fatal(err)
	}
	m := testMessage("")
	err = c.PublishMany(b.Context(), func(yield func(Outgoing) bool) {
		for range benchMessages {
			if !yield(Outgoing{testLane.Route, testLane.Class, m}) {
				return
			}
		}
	}, func(p Published) {
		if p.Err != nil {
			b.Error(p.Err)
		}
	})
	if err != nil {
		b.Fatal(err)
	}
	return c
}

func benchAlone(b *testing.B) benchCost {
	b.Helper()
	c := benchFilled(b)
	consumer, err := c.js.Consumer(b.Context(), "SMS_MT", durable(testLane))
	if err != nil {
		b.Fatal(err)
	}
	event := make([]byte, 340)
	type sent struct {
		future jetstream.PubAckFuture
		m      jetstream.Msg
	}
	unconfirmed := make(chan sent, benchWindow)
	var acks sync.WaitGroup
	acks.Go(func() {
		for s := range unconfirmed {
			select {
			case <-s.future.Ok():
				_ = s.m.Ack()
			case err := <-s.future.Err():
				b.Error(err)
				return
			}
		}
	})
	read := benchMeter(b)
	count, done := 0, make(chan struct{})
	reading, err := consumer.Consume(func(m jetstream.Msg) {
		future, err := c.js.PublishAsync("sms.evt.main.submitted.abc", event)
		if err != nil {
			b.Error(err)
			return
		}
		unconfirmed <- sent{future, m}
		if count++; count == benchMessages {
			close(done)
		}
	}, jetstream.PullMaxMessages(1000))
	if err != nil {
		b.Fatal(err)
	}
	<-done
	close(unconfirmed)
	acks.Wait()
	took := read()
	reading.Stop()
	return took
}

func benchQueue(b *testing.B, receipts bool) benchCost {
	b.Helper()
	c := benchFilled(b)
	journal, err := c.OpenJournal(JournalConfig{})
	if err != nil {
		b.Fatal(err)
	}
	intake, err := c.OpenIntake(b.Context(), journal, IntakeConfig{Lanes: []IntakeLane{{Lane: testLane}}})
	if err != nil {
		b.Fatal(err)
	}
	ctx, stop := context.WithCancel(b.Context())
	defer stop()
	var left sync.WaitGroup
	left.Add(benchMessages)
	read := benchMeter(b)
	for range benchWindow {
		go func() {
			for {
				job, err := intake.Next(ctx)
				if err != nil {
					return
				}
				if _, err := job.Message(); err != nil {
					b.Error(err)
				}
				o := submitted(seqKey(job.Seq()))
				if !receipts {
					o.Receipts = nil
				}
				go func() { // the place in the window is free before the settle
					defer left.Done()
					if err := job.Settle(ctx, o); err != nil {
						b.Error(err)
					}
				}()
			}
		}()
	}
	left.Wait()
	took := read()
	stop()
	if err := intake.Close(b.Context()); err != nil {
		b.Error(err)
	}
	if err := journal.Close(b.Context()); err != nil {
		b.Error(err)
	}
	return took
}
