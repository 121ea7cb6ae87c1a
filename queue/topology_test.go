package queue

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

func TestEnsureCreatesOnceAndAddsSubjects(t *testing.T) {
	b := newBench(t, benchConfig{lanes: []Lane{{"main", "otp"}}})
	ctx := t.Context()
	b.publish(testLane, "kept")
	more := Topology{Lanes: []Lane{{"main", "bulk"}, {"second", "otp"}}}
	for range 2 {
		differences, err := b.client.Ensure(ctx, more)
		if err != nil || len(differences) != 0 {
			t.Fatalf("differences %q, %v; want none", differences, err)
		}
	}
	s, err := b.client.js.Stream(ctx, "SMS_MT")
	if err != nil {
		t.Fatal(err)
	}
	cfg := s.CachedInfo().Config
	slices.Sort(cfg.Subjects)
	if want := []string{"sms.mt.main.bulk", "sms.mt.main.otp", "sms.mt.second.otp"}; !slices.Equal(cfg.Subjects, want) {
		t.Errorf("subjects %v, want %v", cfg.Subjects, want)
	}
	if cfg.Retention != jetstream.WorkQueuePolicy || cfg.Discard != jetstream.DiscardNew || cfg.MaxAge != 0 || cfg.MaxBytes != 1<<30 {
		t.Errorf("SMS_MT: %+v", cfg)
	}
	info := b.consumerInfo(testLane).Config
	if info.AckWait != 120*time.Second || info.MaxDeliver != -1 || len(info.BackOff) != 0 || info.InactiveThreshold != 0 ||
		info.MaxAckPending != 100_000 || info.AckPolicy != jetstream.AckExplicitPolicy {
		t.Errorf("consumer: %+v", info)
	}
	if n := s.CachedInfo().State.Msgs; n != 1 {
		t.Errorf("SMS_MT holds %d messages after the second Ensure, want 1", n)
	}
}

func TestEnsureReportsDifferencesAndLeavesThem(t *testing.T) {
	b := newBench(t, benchConfig{})
	changed := Topology{Lanes: []Lane{testLane}, MaxBytes: 2 << 30, JournalAge: time.Hour, AckWait: time.Minute}
	for range 2 { // the second time nothing was silently changed
		differences, err := b.client.Ensure(t.Context(), changed)
		if err != nil {
			t.Fatal(err)
		}
		all := strings.Join(differences, "\n")
		for _, want := range []string{
			"stream SMS_EVENTS: max_age is 72h0m0s, configured is 1h0m0s",
			"consumer main_otp: ack_wait is 2m0s, configured is 1m0s",
		} {
			if !strings.Contains(all, want) {
				t.Errorf("missing %q in\n%s", want, all)
			}
		}
	}
}

func TestEnsureRefusesBadLanes(t *testing.T) {
	b := newBench(t, benchConfig{})
	for name, tc := range map[string]struct {
		lanes []Lane
		want  string
	}{
		"none":      {nil, "at least one route"},
		"dot":       {[]Lane{{"a.b", "c"}}, `route "a.b"`},
		"long":      {[]Lane{{"a", strings.Repeat("c", 33)}}, "1 to 32"},
		"ambiguous": {[]Lane{{"a_b", "c"}, {"a", "b_c"}}, `both need the consumer "a_b_c"`},
	} {
		if _, err := b.client.Ensure(t.Context(), Topology{Lanes: tc.lanes}); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q in it", name, err, tc.want)
		}
	}
}

func TestPrefixKeepsTwoGatewaysApart(t *testing.T) {
	b := newBench(t, benchConfig{})
	other := b.connect()
	if _, err := other.Ensure(t.Context(), Topology{Prefix: "test", Lanes: []Lane{testLane}}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := other.Publish(t.Context(), "main", "otp", testMessage("x")); err != nil {
		t.Fatal(err)
	}
	for _, stream := range []string{"TEST_MT", "TEST_EVENTS", "KV_sluice_test_waiting"} {
		if _, err := b.client.js.Stream(t.Context(), stream); err != nil {
			t.Errorf("stream %s: %v", stream, err)
		}
	}
	b.nothing(b.intake(IntakeConfig{}), testLane)
}

func TestPublish(t *testing.T) {
	b := newBench(t, benchConfig{})
	ctx := t.Context()
	seq, duplicate, err := b.client.Publish(ctx, "main", "otp", testMessage("a"))
	if err != nil || duplicate || seq != 1 {
		t.Fatalf("%d %v %v", seq, duplicate, err)
	}
	if again, duplicate, err := b.client.Publish(ctx, "main", "otp", testMessage("a")); err != nil || !duplicate || again != seq {
		t.Errorf("again: %d %v %v, want a duplicate of %d", again, duplicate, err, seq)
	}
	if _, _, err := b.client.Publish(ctx, "nowhere", "otp", testMessage("a")); !errors.Is(err, ErrNoRoute) {
		t.Errorf("wrong route: %v, want ErrNoRoute", err)
	}
	var malformed *MalformedError
	if _, _, err := b.client.Publish(ctx, "main", "otp", &Message{To: "1"}); !errors.As(err, &malformed) {
		t.Errorf("no text: %v, want a MalformedError", err)
	}
	if _, _, err := b.client.Publish(ctx, "main.*", "otp", testMessage("a")); err == nil {
		t.Error("a wildcard as route was accepted")
	}
}

func TestPublishToAFullQueue(t *testing.T) {
	b := newBench(t, benchConfig{})
	small := b.connect()
	if _, err := small.Ensure(t.Context(), Topology{Prefix: "small", MaxBytes: 2000, Lanes: []Lane{testLane}}); err != nil {
		t.Fatal(err)
	}
	var err error
	for range 20 {
		if _, _, err = small.Publish(t.Context(), "main", "otp", &Message{To: "1", Text: strings.Repeat("x", 300)}); err != nil {
			break
		}
	}
	if !errors.Is(err, ErrQueueFull) {
		t.Errorf("%v, want ErrQueueFull", err)
	}
}

func TestPublishManyReportsEachInOrder(t *testing.T) {
	b := newBench(t, benchConfig{})
	var got []Published
	err := b.client.PublishMany(t.Context(), func(yield func(Outgoing) bool) {
		for n := range 600 {
			out := Outgoing{"main", "otp", testMessage("id-" + seqKey(uint64(n)))}
			if n == 3 {
				out.Message = &Message{}
			}
			if n == 4 {
				out.Route = "nowhere"
			}
			if !yield(out) {
				return
			}
		}
	}, func(p Published) { got = append(got, p) })
	if err != nil || len(got) != 600 {
		t.Fatalf("%d results, %v", len(got), err)
	}
	for n, p := range got {
		if p.Index != n || (p.Err != nil) != (n == 3 || n == 4) {
			t.Errorf("result %d: %+v", n, p)
		}
	}
	if !errors.Is(got[4].Err, ErrNoRoute) {
		t.Errorf("wrong route: %v", got[4].Err)
	}
}
