package queue

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestEmbeddedStoreBelongsToOne(t *testing.T) {
	dir := t.TempDir()
	first, err := StartEmbedded(EmbeddedConfig{Dir: dir, Listen: "127.0.0.1:-1"})
	if err != nil {
		t.Fatal(err)
	}
	_, err = StartEmbedded(EmbeddedConfig{Dir: dir, Listen: "127.0.0.1:-1"})
	if !errors.Is(err, ErrStoreLocked) || !strings.Contains(err.Error(), dir) {
		t.Errorf("second server: %v, want ErrStoreLocked naming %s", err, dir)
	}
	first.Shutdown()
	again, err := StartEmbedded(EmbeddedConfig{Dir: dir, Listen: "127.0.0.1:0"})
	if err != nil {
		t.Fatalf("after the first has stopped: %v", err)
	}
	again.Shutdown()
}

func TestEmbeddedFaultsSayWhatIsWrong(t *testing.T) {
	taken, err := StartEmbedded(EmbeddedConfig{Dir: t.TempDir(), Listen: "127.0.0.1:-1"})
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Shutdown()
	for name, tc := range map[string]struct {
		cfg  EmbeddedConfig
		want string
	}{
		"no folder":   {EmbeddedConfig{Listen: "127.0.0.1:-1"}, "dir is empty"},
		"no port":     {EmbeddedConfig{Dir: t.TempDir(), Listen: "127.0.0.1"}, "want host:port"},
		"port beyond": {EmbeddedConfig{Dir: t.TempDir(), Listen: "127.0.0.1:70000"}, "want host:port"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := StartEmbedded(tc.cfg); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%v, want %q in it", err, tc.want)
			}
		})
	}
}

func TestEmbeddedAsksForCredentials(t *testing.T) {
	e, err := StartEmbedded(EmbeddedConfig{Dir: t.TempDir(), Listen: "127.0.0.1:-1", User: "gw", Password: "secret-pw"})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Shutdown()
	if _, err := Connect(t.Context(), ConnectConfig{URL: e.URL()}); err == nil || strings.Contains(err.Error(), "secret-pw") {
		t.Errorf("without credentials: %v", err)
	}
	c, err := Connect(t.Context(), ConnectConfig{URL: e.URL(), User: "gw", Password: "secret-pw"})
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
}

func TestEmbeddedRestart(t *testing.T) {
	t.Parallel()
	b := newBench(t, benchConfig{})
	url := b.server.URL()
	i := b.intake(IntakeConfig{})
	held := b.publish(testLane, "held")[0]
	job := b.next(i)
	settled := make(chan Job, 1)
	b.caller(i, settled)
	b.waiting(i, 1)
	for round := range 2 {
		if err := b.server.Restart(); err != nil {
			t.Fatal(err)
		}
		if b.server.URL() != url {
			t.Errorf("after the restart at %s, want %s", b.server.URL(), url)
		}
		if _, err := StartEmbedded(EmbeddedConfig{Dir: b.dir, Listen: "127.0.0.1:-1"}); !errors.Is(err, ErrStoreLocked) {
			t.Errorf("a second server after the restart: %v, want ErrStoreLocked", err)
		}
		var seq uint64
		b.eventually(func() (err error) { // the client comes back by itself
			seq, _, err = b.client.Publish(t.Context(), testLane.Route, testLane.Class, testMessage(fmt.Sprint("m", round)))
			return err
		})
		if came := b.receive(settled); came.Seq() != seq || came.Deliveries() != 1 {
			t.Errorf("round %d: message %d, delivery %d, want %d and 1", round, came.Seq(), came.Deliveries(), seq)
		}
		b.eventually(func() error { // an acknowledgement lost to the restart would cost the AckWait
			if out := b.consumerInfo(testLane).NumAckPending; out != 1 {
				return fmt.Errorf("%d messages out, want the one that is held", out)
			}
			return nil
		})
	}
	b.settle(job, submitted("held"))
	b.wantTypes(held, EventSubmitted)
	b.queueEmpty()
	select {
	case <-b.client.Closed():
		t.Errorf("the client gave up: %v", b.client.CloseCause())
	default:
	}
	b.server.Shutdown()
	if err := b.server.Restart(); !errors.Is(err, errStopped) {
		t.Errorf("Restart after the Shutdown: %v", err)
	}
}
