package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// behaviour is what the SMSC is told to do: it is posted to the running one until that has it, and the next start
// begins with it.
type behaviour struct {
	file    string // scenario of the next start
	control string // address
	rate    float64

	foreign atomic.Uint64 // receipts sent for nothing

	mu      sync.Mutex
	active  []kind // faults, in the order they came
	starts  int
	changes int // of active
	applied int // the change that the running SMSC has
}

// Destinations whose answers are always the same.
const (
	prefixGood     = "1555"
	prefixTerminal = "1666" // never accepted
	prefixBroken   = "1777" // a temporary error each time
)

const responseTimeout = 3 * time.Second

// yaml is the scenario in effect, under the lock.
func (b *behaviour) yaml() string {
	rate := b.rate
	var faults, errors strings.Builder
	everything := ""
	fmt.Fprintf(&errors, "  - {prefix: %q, status: 0x0B}\n  - {prefix: %q, status: 0x08}\n", prefixTerminal, prefixBroken)
	for _, k := range b.active {
		switch k {
		case kindSwallow:
			faults.WriteString("  - {kind: swallow, share: 10%}\n")
		case kindDelay:
			faults.WriteString("  - {kind: delay, by: 2s-9s, share: 20%}\n")
		case kindDuplicate:
			faults.WriteString("  - {kind: duplicate, copies: 2, by: 1ms-2s, share: 30%}\n")
		case kindReorder:
			faults.WriteString("  - {kind: reorder, by: 500ms, share: 20%}\n")
		case kindThrottle:
			rate = b.rate / 10
		case kindRefuse:
			errors.WriteString("  - {status: 0x08, share: 5%}\n  - {status: 0x14, share: 10%}\n  - {status: 0x45, share: 2%}\n")
		case kindFailing:
			everything = "  - {status: 0x08}\n"
		case kindHangUp:
			faults.WriteString("  - {kind: disconnect, how: rst, when: before, every: 97}\n  - {kind: disconnect, how: fin, when: after, every: 89}\n")
		default:
		}
	}
	var y strings.Builder
	fmt.Fprintf(&y, "name: chaos\nlatency: 5ms-40ms\nmessage_id: {first: %d}\n", b.starts*100_000_000+1)
	fmt.Fprintf(&y, "limits:\n  - {kind: token_bucket, rate: %.1f, burst: %.1f}\n", rate, max(1, rate/10))
	fmt.Fprintf(&y, "receipts: {delay: 100ms-3s}\nerrors:\n%s%s", everything, &errors)
	if faults.Len() > 0 {
		fmt.Fprintf(&y, "faults:\n%s", &faults)
	}
	return y.String()
}

// begin makes the SMSC do something wrong, end stops that.
func (b *behaviour) begin(k kind) { b.change(func(a []kind) []kind { return append(a, k) }) }

func (b *behaviour) end(k kind) {
	b.change(func(a []kind) []kind { return slices.DeleteFunc(a, func(have kind) bool { return have == k }) })
}

func (b *behaviour) change(f func([]kind) []kind) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.active = f(b.active)
	b.changes++
}

// next writes the scenario of the next start.
func (b *behaviour) next() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.starts++
	b.applied = b.changes
	return os.WriteFile(b.file, []byte(b.yaml()), 0o600)
}

// follow keeps the running SMSC up to date until ctx ends.
func (b *behaviour) follow(ctx context.Context) {
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		b.mu.Lock()
		changes, due, scenario := b.changes, b.applied != b.changes, b.yaml()
		b.mu.Unlock()
		if due && b.post(ctx, scenario) {
			b.mu.Lock()
			b.applied = changes
			b.mu.Unlock()
		}
	}
}

func (b *behaviour) post(ctx context.Context, scenario string) bool {
	return b.send(ctx, "/scenario", scenario)
}

// foreignReceipts has the SMSC send receipts for messages that it never accepted, ten a second.
func (b *behaviour) foreignReceipts(ctx context.Context, length time.Duration) {
	for end := time.Now().Add(length); time.Now().Before(end) && ctx.Err() == nil; {
		n := b.foreign.Add(1)
		b.send(ctx, "/mo", fmt.Sprintf(`{"from":"%s%07d","to":"chaos","esm_class":4,"text":"id:F%09d sub:001 dlvrd:001 `+
			`submit date:2611302140 done date:2611302141 stat:DELIVRD err:000 text:"}`, prefixGood, n, n)) // a dead SMSC sends none
		pause(ctx, 100*time.Millisecond)
	}
}

func (b *behaviour) send(ctx context.Context, path, body string) bool {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+b.control+path, strings.NewReader(body))
	if err != nil {
		return false
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return false
	}
	_ = response.Body.Close()
	return response.StatusCode == http.StatusOK
}
