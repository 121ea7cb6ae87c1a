package queue

import (
	"context"
	"errors"
	"testing"
	"time"
)

func TestInboundComesBackUntilHandled(t *testing.T) {
	t.Parallel()
	b := newBench(t, benchConfig{})
	in := InboundRecord{Bind: "acme/1", ReceivedAt: time.Now().UTC(), Command: 5, PDU: []byte{0, 0, 0, 16}}
	for range 2 {
		if err := b.client.StoreInbound(t.Context(), "acme", in); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.client.StoreInbound(t.Context(), "other", in); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	type call struct {
		in         InboundRecord
		deliveries int
	}
	calls := make(chan call, 10)
	answers := make(chan struct {
		after time.Duration
		err   error
	}, 10)
	done := make(chan error, 1)
	go func() {
		done <- b.client.ConsumeInbound(ctx, "acme", func(_ context.Context, in InboundRecord, deliveries int) (time.Duration, error) {
			calls <- call{in, deliveries}
			a := <-answers
			return a.after, a.err
		})
	}()
	next := func() call {
		select {
		case c := <-calls:
			return c
		case <-time.After(patience):
			t.Fatal("nothing came")
			return call{}
		}
	}
	answer := func(after time.Duration, err error) {
		answers <- struct {
			after time.Duration
			err   error
		}{after, err}
	}
	if c := next(); c.in.Account != "acme" || c.in.Command != 5 || string(c.in.PDU) != string(in.PDU) || c.deliveries != 1 {
		t.Errorf("first call %+v", c)
	}
	answer(0, errors.New("no such message yet")) // back after a second
	if c := next(); c.deliveries != 1 {
		t.Errorf("second call %+v, want the second record", c)
	}
	answer(50*time.Millisecond, nil)
	if c := next(); c.deliveries != 2 {
		t.Errorf("third call %+v, want the second record again", c)
	}
	answer(0, nil)
	if c := next(); c.deliveries != 2 {
		t.Errorf("fourth call %+v, want the first record again", c)
	}
	answer(0, nil)
	b.eventually(func() error {
		c, err := b.client.js.Consumer(t.Context(), "SMS_IN", "in_acme")
		if err != nil {
			return err
		}
		if info := c.CachedInfo(); info.NumAckPending != 0 || info.NumPending != 0 {
			return errors.New("records are left")
		}
		return nil
	})
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
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
