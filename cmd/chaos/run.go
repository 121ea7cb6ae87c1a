package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"sluice/queue"
	"sluice/testserver"
)

// run is one run from start to verdict.
func run(ctx context.Context, o options) (result *result, err error) {
	began := time.Now()
	r, err := build(ctx, o)
	if err != nil {
		return nil, err
	}
	defer func() {
		save := o.keep || err != nil || result.broken() != nil
		err = errors.Join(err, r.close(save))
	}()
	if err := r.start(ctx); err != nil {
		return nil, err
	}
	nc, err := nats.Connect(r.natsURL, nats.Name("chaos"), nats.MaxReconnects(-1), nats.ReconnectWait(100*time.Millisecond),
		nats.ReconnectBufSize(-1), nats.RetryOnFailedConnect(true))
	if err != nil {
		return nil, err
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		return nil, err
	}

	messages := compose(o.seed, o.messages)
	p := &publisher{js: js, canceller: newCanceller(filepath.Join(o.bin, "sluice"), r.natsURL, o.messages)}
	cancelling, endCancelling := context.WithCancel(ctx)
	defer endCancelling()
	cancelled := make(chan struct{})
	go func() {
		defer close(cancelled)
		p.canceller.run(cancelling)
	}()
	struck := make(chan struct{})
	go func() {
		defer close(struck)
		r.strike(ctx, time.Now())
	}()
	if err := p.publish(ctx, messages, o.length); err != nil {
		return nil, err
	}
	<-struck
	if err := r.heal(); err != nil {
		return nil, err
	}
	fmt.Fprintf(os.Stderr, "chaos: healed after %.0fs, %d publishes were refused and repeated; draining\n",
		time.Since(began).Seconds(), p.refused)
	r.drain(ctx, js)
	endCancelling()
	<-cancelled
	forced := r.stop(gateway1, gateway2)
	e, err := r.collect(ctx, js, messages)
	if err != nil {
		return nil, err
	}
	e.cancelled = p.canceller.done
	forced = append(forced, r.stop(smsc, broker)...)
	result = judge(e)
	result.Seed, result.Faults, result.Seconds = o.seed, len(o.plan), int(time.Since(began).Seconds())
	result.Cancels = p.canceller.runs
	result.Forced, result.DiskBy = strings.Join(forced, " "), r.disk.how()
	for _, p := range r.processes {
		result.Exits += p.exits
		result.Panics += panics(p.log)
	}
	return result, nil
}

// drain waits until the queue is empty, and for late receipts after that.
func (r *rig) drain(ctx context.Context, js jetstream.JetStream) {
	ctx, cancel := context.WithTimeout(ctx, r.patience)
	defer cancel()
	said := time.Now()
	for ctx.Err() == nil {
		left, err := messagesLeft(ctx, js)
		if err == nil && left == 0 {
			pause(ctx, 3*time.Second)
			return
		}
		if time.Since(said) > 10*time.Second {
			said = time.Now()
			fmt.Fprintf(os.Stderr, "chaos: %d messages left, %v\n", left, err)
		}
		pause(ctx, 500*time.Millisecond)
	}
}

func messagesLeft(ctx context.Context, js jetstream.JetStream) (uint64, error) {
	stream, err := js.Stream(ctx, "SMS_MT")
	if err != nil {
		return 0, err
	}
	return stream.CachedInfo().State.Msgs, nil
}

// collect reads what the run left behind.
func (r *rig) collect(ctx context.Context, js jetstream.JetStream, messages []*message) (*evidence, error) {
	e := &evidence{messages: messages, deferred: map[uint64]bool{}, left: map[uint64]bool{}, windows: 2 * windowMost}
	stream, err := js.Stream(ctx, "SMS_MT")
	if err != nil {
		return nil, err
	}
	e.lastSeq = stream.CachedInfo().State.LastSeq
	if err := walk(ctx, js, "SMS_MT", func(m jetstream.Msg, seq uint64) { e.left[seq] = true }); err != nil {
		return nil, err
	}
	if err := walk(ctx, js, "SMS_DEFERRED", func(m jetstream.Msg, _ uint64) {
		seq, err := strconv.ParseUint(m.Headers().Get(queue.HeaderOriginalSeq), 10, 64)
		if err == nil {
			e.deferred[seq] = true
		}
	}); err != nil {
		return nil, err
	}
	if err := walk(ctx, js, "SMS_EVENTS", func(m jetstream.Msg, _ uint64) {
		var event queue.Event
		if json.Unmarshal(m.Data(), &event) == nil && event.Type != "probe" {
			e.events = append(e.events, event)
		}
	}); err != nil {
		return nil, err
	}
	records := map[string]bool{}
	if err := walk(ctx, js, "KV_sluice_waiting", func(m jetstream.Msg, _ uint64) {
		records[m.Subject()] = m.Headers().Get("KV-Operation") == "" && m.Headers().Get("Nats-Marker-Reason") == "" && len(m.Data()) > 0
	}); err != nil {
		return nil, err
	}
	for _, left := range records {
		if left {
			e.records++
		}
	}
	if e.ledger, err = readLedger(r.ledger); err != nil {
		return nil, err
	}
	for _, p := range r.processes {
		e.crashes += p.crashes
		e.drops += p.freezes + p.exits
	}
	for _, l := range r.links {
		e.drops += l.disconnects() + l.stalls
	}
	e.struck = r.struck
	return e, nil
}

// walk calls f for every message of a stream. It browses a work queue too, which no second consumer could.
func walk(ctx context.Context, js jetstream.JetStream, name string, f func(m jetstream.Msg, seq uint64)) error {
	stream, err := js.Stream(ctx, name)
	if err != nil {
		return fmt.Errorf("reading %s: %w", name, err)
	}
	state := stream.CachedInfo().State
	if state.Msgs == 0 {
		return nil
	}
	if stream.CachedInfo().Config.Retention == jetstream.WorkQueuePolicy {
		for seq := state.FirstSeq; seq <= state.LastSeq; seq++ {
			if _, err := stream.GetMsg(ctx, seq); err == nil {
				f(nil, seq)
			}
		}
		return nil
	}
	consumer, err := js.OrderedConsumer(ctx, name, jetstream.OrderedConsumerConfig{})
	if err != nil {
		return fmt.Errorf("reading %s: %w", name, err)
	}
	if consumer.CachedInfo().NumPending == 0 {
		return nil
	}
	messages, err := consumer.Messages()
	if err != nil {
		return fmt.Errorf("reading %s: %w", name, err)
	}
	defer messages.Stop()
	for {
		m, err := messages.Next(jetstream.NextContext(ctx))
		if err != nil {
			return fmt.Errorf("reading %s: %w", name, err)
		}
		meta, err := m.Metadata()
		if err != nil {
			return fmt.Errorf("reading %s: %w", name, err)
		}
		f(m, meta.Sequence.Stream)
		if meta.NumPending == 0 {
			return nil
		}
	}
}

// readLedger reads the SMSC's file. Its last line may be torn by a kill -9, and others by one while it was written.
func readLedger(file string) ([]testserver.Entry, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("reading the SMSC's ledger: %w", err)
	}
	var entries []testserver.Entry
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		var e testserver.Entry
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return nil, fmt.Errorf("reading the SMSC's ledger: line %d: %w", len(entries)+1, err)
		}
		entries = append(entries, e)
	}
	return entries, lines.Err()
}

// panics counts the panics in a log. A stack that was asked for is none.
func panics(file string) int {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0
	}
	count := 0
	for _, word := range []string{"\npanic: ", "\nfatal error: ", "panic while handling", "DATA RACE"} {
		count += bytes.Count(text, []byte(word))
	}
	return count
}
