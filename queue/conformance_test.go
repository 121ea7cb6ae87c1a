package queue_test

import (
	"context"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"sluice/queue"
	"sluice/queue/queuetest"
)

// jetStream is a queue on a server of its own, as the suite wants it.
type jetStream struct {
	t       *testing.T
	url     string
	reader  *queue.Client // never dies
	client  *queue.Client
	journal *queue.Journal
	intake  *queue.Intake

	published map[string]uint64 // messages of each class
}

const conformanceAckWait = 2 * time.Second

func TestConformance(t *testing.T) {
	t.Parallel()
	queuetest.Run(t, func(t *testing.T) queuetest.Queue {
		server, err := queue.StartEmbedded(queue.EmbeddedConfig{Dir: t.TempDir(), Listen: "127.0.0.1:-1"})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(server.Shutdown)
		q := &jetStream{t: t, url: server.URL(), published: map[string]uint64{}}
		q.reader = q.connect()
		t.Cleanup(q.reader.Close)
		var lanes []queue.Lane
		for _, l := range queuetest.Lanes() {
			lanes = append(lanes, l.Lane)
		}
		if _, err := q.reader.Ensure(t.Context(), queue.Topology{Lanes: lanes, AckWait: conformanceAckWait}); err != nil {
			t.Fatal(err)
		}
		q.open()
		t.Cleanup(q.close)
		return q
	})
}

func (q *jetStream) connect() *queue.Client {
	c, err := queue.Connect(q.t.Context(), queue.ConnectConfig{URL: q.url})
	if err != nil {
		q.t.Fatal(err)
	}
	return c
}

func (q *jetStream) open() {
	q.client = q.connect()
	var err error
	if q.journal, err = q.client.OpenJournal(queue.JournalConfig{}); err != nil {
		q.t.Fatal(err)
	}
	q.intake, err = q.client.OpenIntake(q.t.Context(), q.journal, queue.IntakeConfig{
		Lanes: queuetest.Lanes(), AckWait: conformanceAckWait,
	})
	if err != nil {
		q.t.Fatal(err)
	}
}

func (q *jetStream) close() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	q.client.Close() // at once: what it held comes back or is gone with the server
	_ = q.intake.Close(ctx)
	_ = q.journal.Close(ctx)
}

func (q *jetStream) Publish(class, payload string, header map[string]string) uint64 {
	m := nats.NewMsg("sms.mt.main." + class)
	m.Data = []byte(payload)
	for key, value := range header {
		m.Header.Set(key, value)
	}
	js, err := q.reader.Conn().JetStream()
	if err != nil {
		q.t.Fatal(err)
	}
	ack, err := js.PublishMsg(m)
	if err != nil || ack.Duplicate {
		q.t.Fatalf("publish: %+v, %v", ack, err)
	}
	q.published[class]++
	q.awaitPending(js, class)
	return ack.Sequence
}

// awaitPending waits until the consumer counts what was published: the server confirms a message a moment before it does.
// What was removed in between is never counted, so that it gives up after a while.
func (q *jetStream) awaitPending(js nats.JetStreamContext, class string) {
	for range 200 {
		info, err := js.ConsumerInfo("SMS_MT", "main_"+class, nats.Context(q.t.Context()))
		if err != nil {
			q.t.Fatal(err)
		}
		if info.NumPending+info.Delivered.Consumer >= q.published[class] {
			return
		}
	}
}

func (q *jetStream) Source() queuetest.Source { return q.intake }

func (q *jetStream) Crash() {
	q.close()
	q.open()
}

func (q *jetStream) Events(seq uint64) (events []queue.Event) {
	for e, err := range q.reader.Events(q.t.Context(), queue.EventFilter{Seq: seq}) {
		if err != nil {
			q.t.Fatal(err)
		}
		events = append(events, e)
	}
	return events
}

func (q *jetStream) Queued() (queued int) {
	stats, err := q.reader.LaneStats(q.t.Context())
	if err != nil {
		q.t.Fatal(err)
	}
	for _, s := range stats {
		queued += int(s.Pending + s.AckPending)
	}
	return queued
}
