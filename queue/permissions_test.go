package queue

import (
	"errors"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// TestDocumentedPermissionsSuffice gives a gateway's user what docs/operations.md says that it needs, and nothing else.
func TestDocumentedPermissionsSuffice(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	sentence := regexp.MustCompile("(?s)publish and subscribe on (.*?)\\.\n").FindString(string(page))
	var subjects []string
	for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(sentence, -1) {
		subjects = append(subjects, strings.ReplaceAll(m[1], "<prefix>", "sms"))
	}
	if len(subjects) < 3 {
		t.Fatalf("the page names %q", subjects)
	}
	allowed := &server.SubjectPermission{Allow: subjects}
	s, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: -1, JetStream: true, StoreDir: t.TempDir(), NoLog: true, NoSigs: true,
		Users: []*server.User{{Username: "gw", Password: "pw", Permissions: &server.Permissions{Publish: allowed, Subscribe: allowed}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() {
		s.Shutdown()
		s.WaitForShutdown()
	})
	b := &bench{t: t}
	if b.client, err = Connect(t.Context(), ConnectConfig{URL: s.ClientURL(), User: "gw", Password: "pw"}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.client.Close)
	if _, err := b.client.Ensure(t.Context(), Topology{Lanes: []Lane{testLane}}); err != nil {
		t.Fatal(err)
	}
	b.journal = b.openJournal(b.client)
	seq := b.publish(testLane, "m")[0]
	i := b.intake(IntakeConfig{})
	job := b.next(i)
	b.settle(job, throttled(job.State(), 0)) // its record goes to a bucket
	b.settle(b.next(i), submitted("id"))
	b.queueEmpty()
	b.wantTypes(seq, EventThrottled, EventSubmitted)
	if err := b.client.Forbidden(); err != nil {
		t.Error(err)
	}

	// What is not on the list is denied, and the client knows what it was.
	if err := b.client.nc.Publish("elsewhere", nil); err != nil {
		t.Fatal(err)
	}
	if err := b.client.nc.Flush(); err != nil {
		t.Fatal(err)
	}
	b.eventually(func() error { // the client's handler runs beside
		if b.client.Forbidden() == nil {
			return errors.New("the client does not know that a subject was denied")
		}
		return nil
	})
	if err := b.client.Forbidden(); !errors.Is(err, nats.ErrPermissionViolation) || !strings.Contains(err.Error(), "elsewhere") {
		t.Errorf("denied: %v", err)
	}
}
