package queue

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestInboundComesBackUntilHandled(t *testing.T) {
	t.Parallel()
	b := newBench(t, benchConfig{})
	in := InboundRecord{Bind: "acme/1", ReceivedAt: time.Now().UTC(), Command: 5, PDU: []byte{0, 0, 0, 16}}
	for range 3 {
		if err := b.client.StoreInbound(t.Context(), "acme", in); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.client.StoreInbound(t.Context(), "other", in); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var mu sync.Mutex
	handled := map[uint64][]int{} // the deliveries of each record
	done := make(chan error, 1)
	go func() {
		done <- b.client.ConsumeInbound(ctx, "acme", func(_ context.Context, got InboundRecord, deliveries int) (time.Duration, error) {
			if got.Account != "acme" || got.Command != 5 || string(got.PDU) != string(in.PDU) {
				t.Errorf("handed out %+v", got)
			}
			mu.Lock()
			defer mu.Unlock()
			handled[got.Seq] = append(handled[got.Seq], deliveries)
			switch {
			case got.Seq == 1 && deliveries == 1:
				return 0, errors.New("no such message yet") // back after a second
			case got.Seq == 2 && deliveries < 3:
				return 50 * time.Millisecond, nil
			}
			return 0, nil
		})
	}()
	b.eventually(func() error {
		c, err := b.client.js.Consumer(t.Context(), "SMS_IN", "in_acme")
		if err != nil {
			return err
		}
		if info := c.CachedInfo(); info.NumAckPending != 0 || info.NumPending != 0 || info.Delivered.Consumer < 6 {
			return errors.New("records are left")
		}
		return nil
	})
	mu.Lock()
	defer mu.Unlock()
	if got, want := fmt.Sprint(handled), "map[1:[1 2] 2:[1 2 3] 3:[1]]"; got != want {
		t.Errorf("deliveries %s, want %s", got, want)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// A record that takes long holds up nobody.
func TestInboundIsHandledSeveralAtOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t, benchConfig{})
	for range inboundWorkers {
		if err := b.client.StoreInbound(t.Context(), "acme", InboundRecord{}); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var together sync.WaitGroup
	together.Add(inboundWorkers)
	var ended atomic.Int32
	done := make(chan error, 1)
	go func() {
		done <- b.client.ConsumeInbound(ctx, "acme", func(context.Context, InboundRecord, int) (time.Duration, error) {
			together.Done()
			together.Wait() // each waits for all
			if ended.Add(1) == inboundWorkers {
				cancel()
			}
			return 0, nil
		})
	}()
	if err := <-done; err != nil || ended.Load() != inboundWorkers {
		t.Errorf("%d of %d were handled at once, %v", ended.Load(), inboundWorkers, err)
	}
}

func TestInboundDelays(t *testing.T) {
	for deliveries, want := range map[int]time.Duration{
		1: time.Second, 2: 5 * time.Second, 3: 24 * time.Second, 4: 30 * time.Second, 100: 30 * time.Second,
	} {
		if got := inboundDelay(deliveries); got != want {
			t.Errorf("after delivery %d: %v, want %v", deliveries, got, want)
		}
	}
}

func TestPublishMO(t *testing.T) {
	t.Parallel()
	b := newBench(t, benchConfig{})
	for range 2 {
		if err := b.client.PublishMO(t.Context(), "acme", "key-1", MO{From: "15550100", To: "12345", Text: "STOP"}); err != nil {
			t.Fatal(err)
		}
	}
	s, err := b.client.js.Stream(t.Context(), "SMS_MO")
	if err != nil {
		t.Fatal(err)
	}
	if n := s.CachedInfo().State.Msgs; n != 1 {
		t.Errorf("%d stored, want 1", n)
	}
	m, err := b.client.readLeader(t.Context(), "SMS_MO", readRequest{LastFor: "sms.mo.acme"})
	if err != nil {
		t.Fatal(err)
	}
	var mo MO
	decodeJSON(t, m.Data, &mo)
	if mo.V != 1 || mo.Account != "acme" || mo.Text != "STOP" {
		t.Errorf("%+v", mo)
	}
}

func TestNothingStoredMeansAnError(t *testing.T) {
	t.Parallel()
	b := newBench(t, benchConfig{})
	if err := b.client.js.DeleteStream(t.Context(), "SMS_IN"); err != nil {
		t.Fatal(err)
	}
	if err := b.client.StoreInbound(t.Context(), "acme", InboundRecord{}); err == nil {
		t.Error("stored without a stream")
	}
	if err := b.client.ConsumeInbound(t.Context(), "acme", nil); err == nil {
		t.Error("consumed without a stream")
	}
}
