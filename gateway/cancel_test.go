package gateway

import (
	"context"
	"sync"
	"testing"
	"time"

	"sluice/gateway/admin"
	"sluice/queue"
	"sluice/testserver"
)

// canceller cancels messages as the command does.
type canceller struct {
	t       *testing.T
	client  *queue.Client
	journal *queue.Journal
}

func newCanceller(t *testing.T, r *rig) *canceller {
	t.Helper()
	client, err := queue.Connect(t.Context(), queue.ConnectConfig{URL: r.NATSURL(), Name: "canceller"})
	if err != nil {
		t.Fatal(err)
	}
	journal, err := client.OpenJournal(queue.JournalConfig{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = journal.Close(context.Background()) // the server may be gone
		client.Close()
	})
	return &canceller{t, client, journal}
}

func (c *canceller) cancel(seq uint64, id string) queue.CancelResult {
	r, err := c.client.Cancel(c.t.Context(), c.journal, seq, id, func(ctx context.Context) (bool, error) {
		return admin.Cancel(ctx, c.client, seq, []string{"test-1"})
	})
	if err != nil {
		c.t.Errorf("cancelling message %d: %v", seq, err)
	}
	return r.Result
}

// What is cancelled before its submit is not submitted, wherever it is: in the queue, or under a permit that waits for
// its pace.
func TestCancelledMessagesAreNotSubmitted(t *testing.T) {
	t.Parallel()
	const n = 12
	s := startSMSC(t, testserver.Scenario{})
	r := startGateway(t, t.TempDir(), s, "rate: {declared: 2}", "")
	c := newCanceller(t, r)
	sent := messages(n, "+155501")
	r.publish(t, sent...)
	results := make(map[uint64]queue.CancelResult)
	for seq := uint64(n); seq > n/2; seq-- {
		results[seq] = c.cancel(seq, sent[seq-1].ID)
	}
	cancelled := 0
	for _, e := range r.await(t, n, isFinal) {
		switch {
		case (e.Type == queue.EventCancelled) != (results[e.Seq] == queue.CancelDone) && results[e.Seq] != queue.CancelInFlight:
			t.Errorf("message %d ended %s, its cancelling said %q", e.Seq, e.Type, results[e.Seq])
		case e.Type == queue.EventCancelled:
			cancelled++
		case e.Type != queue.EventSubmitted:
			t.Errorf("message %d ended %s", e.Seq, e.Type)
		}
	}
	if cancelled == 0 {
		t.Errorf("none of %v was cancelled", results)
	}
	if submits := len(s.Ledger()); submits != n-cancelled {
		t.Errorf("%d submits, want %d", submits, n-cancelled)
	}
	t.Logf("%v", results)
}

// Cancelling races with submits, throttles and answers: each message has one final, and what is said to be cancelled was
// not accepted.
func TestCancellingRacesWithSubmits(t *testing.T) {
	t.Parallel()
	const n = 90
	s := startSMSC(t, testserver.Scenario{
		Latency: testserver.Between(0, 20*time.Millisecond), AnyOrder: true,
		Limits: []testserver.Limit{{Kind: testserver.Noise, Share: 0.2}},
	})
	r := startGateway(t, t.TempDir(), s, "noise: {max: 50%, ignore: 20%}", "")
	sent := messages(n, "+155502")
	var mu sync.Mutex
	results := make(map[uint64]queue.CancelResult)
	var cancelling sync.WaitGroup
	r.publish(t, sent...)
	for worker := range 3 {
		c := newCanceller(t, r)
		cancelling.Go(func() {
			for seq := uint64(1 + worker); seq <= n/2; seq += 3 { // with the submits
				result := c.cancel(seq, sent[seq-1].ID)
				mu.Lock()
				results[seq] = result
				mu.Unlock()
			}
		})
	}
	cancelling.Wait()
	r.await(t, n, isFinal)
	finals := make(map[uint64][]queue.EventType)
	for _, e := range r.events(t) {
		if e.Type.Final() {
			finals[e.Seq] = append(finals[e.Seq], e.Type)
		}
	}
	accepted := make(map[string]int)
	for _, rec := range s.Ledger() {
		if rec.Status == 0 {
			accepted[rec.Destination]++
		}
	}
	count := make(map[queue.CancelResult]int)
	for seq := uint64(1); seq <= n; seq++ {
		count[results[seq]]++
		if len(finals[seq]) != 1 {
			t.Errorf("message %d has the finals %v", seq, finals[seq])
			continue
		}
		if results[seq] == queue.CancelDone && finals[seq][0] != queue.EventCancelled {
			t.Errorf("message %d is said to be cancelled and ended %s", seq, finals[seq][0])
		}
	}
	submitted := 0
	for _, f := range finals {
		if f[0] == queue.EventSubmitted {
			submitted++
		}
	}
	if len(accepted) != submitted {
		t.Errorf("the SMSC accepted %d, %d ended submitted", len(accepted), submitted)
	}
	t.Logf("%v", count)
}
