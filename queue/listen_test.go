package queue

import (
	"context"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
)

// A subscription that two want to end, one after the other or at once, ends for both: also one that has ended already,
// whose Drain calls no handler any more, and one of a connection that is closed.
func TestASubscriptionEndsForAllWhoWait(t *testing.T) {
	t.Parallel()
	b := newBench(t, benchConfig{})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // only a wait for ever takes so long
	defer cancel()
	listen := func() (*nats.Subscription, <-chan struct{}) {
		sub, ended, err := b.client.listen(b.client.nc.NewInbox(), func(*nats.Msg) {})
		if err != nil {
			t.Fatal(err)
		}
		return sub, ended
	}

	sub, ended := listen()
	both := make(chan error, 2)
	for range cap(both) {
		go func() { both <- drain(ctx, sub, ended) }()
	}
	for range cap(both) {
		if err := <-both; err != nil {
			t.Errorf("at once: %v", err)
		}
	}
	if err := drain(ctx, sub, ended); err != nil {
		t.Errorf("one that has ended: %v", err)
	}

	sub, ended = listen()
	if err := sub.Unsubscribe(); err != nil {
		t.Fatal(err)
	}
	if err := drain(ctx, sub, ended); err != nil {
		t.Errorf("one that somebody else has ended: %v", err)
	}

	sub, ended = listen()
	b.client.nc.Close()
	if err := drain(ctx, sub, ended); err != nil {
		t.Errorf("one of a closed connection: %v", err)
	}
}

// The inboxes of pulls and confirmations begin with the prefix that the account may read.
func TestInboxesHaveThePrefix(t *testing.T) {
	t.Parallel()
	b := newBench(t, benchConfig{})
	c, err := Connect(t.Context(), ConnectConfig{URL: b.server.URL(), InboxPrefix: "_SLUICE.a"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	j, err := c.OpenJournal(JournalConfig{})
	if err != nil {
		t.Fatal(err)
	}
	if want := "_SLUICE.a."; len(j.confirm.prefix) < len(want) || j.confirm.prefix[:len(want)] != want {
		t.Errorf("confirmations come to %s, want below %s", j.confirm.prefix, want)
	}
	if err := j.Close(t.Context()); err != nil {
		t.Error(err)
	}
}
