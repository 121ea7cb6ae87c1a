package queue

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestDesiredIsKeptAndChangedOneByOne(t *testing.T) {
	b := newBench(t, benchConfig{})
	if c, err := b.client.ReadControl(t.Context(), "acme"); err != nil || c.Desired.Revision != 0 || c.Hold.Revision != 0 {
		t.Fatalf("before any change: %+v, %v", c, err)
	}
	var changing sync.WaitGroup
	for range 8 { // at once: no change may lose another
		changing.Go(func() {
			_, err := b.client.ChangeDesired(t.Context(), "acme", func(d *Desired) {
				n := 1
				if d.MaxWindow != nil {
					n += *d.MaxWindow
				}
				d.MaxWindow, d.Mode = &n, ModePause
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	changing.Wait()
	b.restart()
	var c Control
	b.eventually(func() (err error) {
		c, err = b.client.ReadControl(t.Context(), "acme")
		return err
	})
	if c.Desired.MaxWindow == nil || *c.Desired.MaxWindow != 8 || c.Desired.Mode != ModePause || c.Desired.Revision == 0 {
		t.Errorf("after 8 changes and a restart: %s, revision %d", &c.Desired, c.Desired.Revision)
	}
	if other, err := b.client.ReadControl(t.Context(), "backup"); err != nil || other.Desired.Revision != 0 {
		t.Errorf("another account: %+v, %v", other, err)
	}
}

func TestHoldIsOnlyExtended(t *testing.T) {
	b := newBench(t, benchConfig{})
	now := time.Now()
	for _, wait := range []time.Duration{time.Minute, time.Hour, time.Second} {
		err := b.client.ExtendHold(t.Context(), "acme", Hold{Until: now.Add(wait), For: wait, Reason: wait.String()})
		if err != nil {
			t.Fatal(err)
		}
	}
	c, err := b.client.ReadControl(t.Context(), "acme")
	if err != nil {
		t.Fatal(err)
	}
	if h := c.Hold; !h.Until.Equal(now.Add(time.Hour)) || h.Reason != "1h0m0s" {
		t.Errorf("hold %+v, want the longest", h)
	}
}

// The clock of a machine may be set while a hold is stored.
func TestHoldIsNeverLongerThanAsked(t *testing.T) {
	asked := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	h := Hold{Until: asked.Add(time.Minute), For: time.Minute, Asked: asked, Revision: 1}
	for at, want := range map[time.Duration]time.Duration{
		0: time.Minute, 20 * time.Second: 40 * time.Second, time.Hour: 0, -time.Hour: time.Minute,
	} {
		if left := h.Left(asked.Add(at)); left != want {
			t.Errorf("%v after it was asked %v are left, want %v", at, left, want)
		}
	}
}

func TestFollowControlHearsChangesAndReconnects(t *testing.T) {
	b := newBench(t, benchConfig{})
	other := b.connect()
	reads := make(chan Control, 100)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		b.client.FollowControl(ctx, func(ctx context.Context) {
			if c, err := b.client.ReadControl(ctx, "acme"); err == nil {
				reads <- c
			}
		})
	}()
	until := func(mode Mode) {
		t.Helper()
		timer := time.NewTimer(patience)
		defer timer.Stop()
		for {
			select {
			case c := <-reads:
				if c.Desired.Mode == mode {
					return
				}
			case <-timer.C:
				t.Fatalf("mode %q was never read", mode)
			}
		}
	}
	change := func(mode Mode) {
		t.Helper()
		b.eventually(func() error {
			_, err := other.ChangeDesired(t.Context(), "acme", func(d *Desired) { d.Mode = mode })
			return err
		})
	}
	until(ModeRun)
	change(ModePause)
	until(ModePause)
	b.restart()
	change(ModeDrain)
	until(ModeDrain)
	cancel()
	<-ended
}

func TestLeaseOfAName(t *testing.T) {
	b := newBench(t, benchConfig{})
	ctx := t.Context()
	mine := Lease{Nonce: "a", Started: time.Now().UTC(), Parts: map[string]Part{"acme": {Demand: 2, Rate: 0.5}}}
	rev, err := b.client.ClaimLease(ctx, "gw-1", mine, false)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.client.ClaimLease(ctx, "gw-2", Lease{Nonce: "b"}, false); err != nil {
		t.Fatal(err)
	}
	renewed, lapsed, err := b.client.RenewLease(ctx, "gw-1", mine, rev)
	if err != nil || lapsed || renewed == rev {
		t.Fatalf("renewed to %d, lapsed %v, %v", renewed, lapsed, err)
	}
	// The confirmation of a renewal was lost: the revision we know is old, the lease is still ours.
	renewed, lapsed, err = b.client.RenewLease(ctx, "gw-1", mine, rev)
	if err != nil || lapsed {
		t.Fatalf("after a lost confirmation: lapsed %v, %v", lapsed, err)
	}
	list, err := b.client.Instances(ctx)
	if err != nil || len(list) != 2 || list[0].Name != "gw-2" && list[1].Name != "gw-2" {
		t.Fatalf("instances %+v, %v", list, err)
	}
	for _, i := range list {
		if i.Name == "gw-1" && (i.Nonce != "a" || i.Parts["acme"] != mine.Parts["acme"]) {
			t.Errorf("gw-1 is %+v", i)
		}
	}

	// A lease of a form that is not known hides none of the others.
	if _, err := b.client.js.Publish(ctx, "$KV.sluice_instances.instance.gw-0", []byte(`{"parts":"all"}`)); err != nil {
		t.Fatal(err)
	}
	list, err = b.client.Instances(ctx)
	if err != nil || len(list) != 3 {
		t.Fatalf("instances %+v, %v", list, err)
	}
	for _, i := range list {
		if (i.Unreadable != nil) != (i.Name == "gw-0") || i.Name == "gw-0" && !strings.Contains(i.Unreadable.Error(), "instance.gw-0 of ") {
			t.Errorf("%s: unreadable: %v", i.Name, i.Unreadable)
		}
	}
	if err := b.client.EndLease(ctx, "gw-0", list[2].Revision); err != nil {
		t.Fatal(err)
	}

	// Another process of that name: the first one finds out, and one that comes while it lives is refused.
	stolen, _, err := b.client.RenewLease(ctx, "gw-1", mine, renewed)
	if err != nil {
		t.Fatal(err)
	}
	taken, err := b.client.ClaimLease(ctx, "gw-1", Lease{Nonce: "c"}, true) // alone: at once
	if err != nil || taken <= stolen {
		t.Fatalf("taken over at %d after %d, %v", taken, stolen, err)
	}
	var name *NameTakenError
	if _, _, err := b.client.RenewLease(ctx, "gw-1", mine, stolen); !errors.As(err, &name) || name.Name != "gw-1" {
		t.Errorf("the lease of another was renewed: %v", err)
	}
	if err := b.client.EndLease(ctx, "gw-1", stolen); err != nil {
		t.Error(err)
	}
	if list, err := b.client.Instances(ctx); err != nil || len(list) != 2 {
		t.Errorf("the lease of another was ended: %+v, %v", list, err)
	}
	if err := b.client.EndLease(ctx, "gw-1", taken); err != nil {
		t.Error(err)
	}
	if list, err := b.client.Instances(ctx); err != nil || len(list) != 1 {
		t.Errorf("after its end: %+v, %v", list, err)
	}
	if _, lapsed, err := b.client.RenewLease(ctx, "gw-1", mine, taken); err != nil || !lapsed {
		t.Errorf("a lease that has ended is renewed: lapsed %v, %v", lapsed, err)
	}
}

// A name is taken from who died with it, and not from who lives.
func TestLeaseTakenAfterSilence(t *testing.T) {
	b := newBench(t, benchConfig{})
	ctx := t.Context()
	rev, err := b.client.ClaimLease(ctx, "gw-1", Lease{Nonce: "dead"}, false)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := b.client.sameAfterSilence(ctx, "gw-1", rev, new(Lease)); err != nil || got != rev {
		t.Errorf("a lease that nobody renews: %d, %v, want %d", got, err, rev)
	}
	if _, _, err := b.client.RenewLease(ctx, "gw-1", Lease{Nonce: "dead"}, rev); err != nil {
		t.Fatal(err)
	}
	var name *NameTakenError
	if _, err := b.client.sameAfterSilence(ctx, "gw-1", rev, new(Lease)); !errors.As(err, &name) {
		t.Errorf("a lease that is renewed: %v, want it to be refused", err)
	}
}

func TestOneSweeperAtATime(t *testing.T) {
	b := newBench(t, benchConfig{})
	for _, want := range []struct {
		nonce string
		held  bool
	}{{"a", true}, {"b", false}, {"a", true}} {
		if held, err := b.client.HoldSweep(t.Context(), "acme", want.nonce); err != nil || held != want.held {
			t.Errorf("%s holds it: %v (%v), want %v", want.nonce, held, err, want.held)
		}
	}
	if held, err := b.client.HoldSweep(t.Context(), "backup", "b"); err != nil || !held {
		t.Errorf("another account: %v, %v", held, err)
	}
}
