package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"sluice/queue"
)

// BenchmarkMessage runs `sluice message` for a delivery whose events stand at the beginning of a full journal, and for one
// in the middle, by delivery id and by sequence. Each run is the whole command: process, connection, answer.
//
//	SLUICE_BENCH_EVENTS=5000000 go test -run '^$' -bench Message -benchtime 5x ./cmd/sluice
//
// 5 million events take about 2.5 GB in the directory for temporary files.
func BenchmarkMessage(b *testing.B) {
	events := 100_000
	if n, err := strconv.Atoi(os.Getenv("SLUICE_BENCH_EVENTS")); err == nil {
		events = n
	}
	path, err := buildOnce()
	if err != nil {
		b.Fatal(err)
	}
	server, err := queue.StartEmbedded(queue.EmbeddedConfig{Dir: b.TempDir(), Listen: "127.0.0.1:-1"})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(server.Shutdown)
	began := time.Now()
	fillJournal(b, server.URL(), events)
	b.Logf("%d events were stored in %v", events, time.Since(began).Round(time.Second))
	for name, args := range map[string][]string{
		"first/id": {"--id", benchID(1)}, "first/seq": {"--seq", "1"},
		"middle/id": {"--id", benchID(events / 4)}, "middle/seq": {"--seq", strconv.Itoa(events / 4)},
	} {
		b.Run(name, func(b *testing.B) {
			began := cpuTime(b)
			for range b.N {
				out, errs, err := runBinary(b.Context(), path, append([]string{"message", "--nats", server.URL()}, args...)...)
				if err != nil || strings.Count(out, "acme") != 2 || !strings.Contains(out, "ended submitted") {
					b.Fatalf("%v: %s%s", err, out, errs)
				}
			}
			b.ReportMetric((cpuTime(b)-began).Seconds()/float64(b.N), "cpu-s/op") // the server's and the command's
		})
	}
}

// cpuTime is what this process, with the server, and its ended children have used.
func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var sum int64
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var u syscall.Rusage
		if err := syscall.Getrusage(who, &u); err != nil {
			b.Fatal(err)
		}
		sum += u.Utime.Nano() + u.Stime.Nano()
	}
	return time.Duration(sum)
}

func benchID(n int) string { return "order-" + strconv.Itoa(n) }

// fillJournal stores two events, of about 350 octets, for each of events/2 messages.
func fillJournal(b *testing.B, url string, events int) {
	b.Helper()
	client, err := queue.Connect(b.Context(), queue.ConnectConfig{URL: url, Name: "fill"})
	if err != nil {
		b.Fatal(err)
	}
	defer client.Close()
	if _, err := client.Ensure(b.Context(), queue.Topology{Lanes: []queue.Lane{{Route: "main", Class: "normal"}}}); err != nil {
		b.Fatal(err)
	}
	nc := client.Conn()
	// A sequence is looked for up to the last of the queue.
	if err := skipTo(nc, events/2+1); err != nil {
		b.Fatal(err)
	}
	status := uint32(0x58)
	const confirmed = 2000 // one of so many is waited for, so that the server is not overrun
	for n := range events {
		e := queue.Event{
			V: 1, Seq: uint64(n/2 + 1), ID: benchID(n/2 + 1), Type: queue.EventThrottled, At: time.Now().UTC(), Delivery: 1,
			Route: "main", Class: "normal", Account: "acme", Bind: "acme/1", Segments: 1, Attempt: 1, Throttles: 1, QueueAgeMillis: 12,
			CommandStatus: &status, StatusName: "ESME_RTHROTTLED", Verdict: "throttle", Reason: "throttled", DelayMillis: 734,
		}
		if n%2 == 1 {
			e.Type, e.CommandStatus, e.StatusName, e.Verdict, e.Reason = queue.EventSubmitted, new(uint32), "ESME_ROK", "ok", ""
			e.SegmentsAccepted, e.MessageIDs = 1, []string{fmt.Sprintf("%032d", n)}
		}
		e.EventID = fmt.Sprintf("%d.%d.%s", e.Seq, e.Delivery, e.Type)
		data, err := json.Marshal(e)
		if err == nil && n%confirmed == 0 {
			_, err = nc.Request(e.Subject("sms"), data, patience)
		} else if err == nil {
			err = nc.Publish(e.Subject("sms"), data)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	for range 600 { // until the server has stored all
		stored, err := streamSize(nc, "SMS_EVENTS")
		if err != nil {
			b.Fatal(err)
		}
		if stored == events {
			return
		}
		if err := nc.FlushTimeout(patience); err != nil {
			b.Fatal(err)
		}
	}
	b.Fatal("the events do not come to the journal")
}

// skipTo makes the next message of the queue the one with this sequence.
func skipTo(nc *nats.Conn, seq int) error {
	reply, err := nc.Request("$JS.API.STREAM.PURGE.SMS_MT", fmt.Appendf(nil, `{"seq":%d}`, seq), patience)
	if err == nil && strings.Contains(string(reply.Data), `"error"`) {
		err = errors.New(string(reply.Data))
	}
	return err
}

func streamSize(nc *nats.Conn, stream string) (int, error) {
	reply, err := nc.Request("$JS.API.STREAM.INFO."+stream, nil, patience)
	if err != nil {
		return 0, err
	}
	var info struct {
		State struct {
			Messages int `json:"messages"`
		} `json:"state"`
	}
	return info.State.Messages, json.Unmarshal(reply.Data, &info)
}
