package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"sluice/queue"
)

// route is the one that all messages take.
const route = "main"

// message is one that is published: what it is and which sequences of the stream it got.
type message struct {
	index       int
	class       string
	destination string
	parts       int // submit_sm that it needs
	payload     []byte

	seqs []uint64 // of its PubAcks
}

func (m *message) id() string { return deliveryID(m.index) }

func deliveryID(index int) string { return fmt.Sprintf("c%07d", index) }

// compose makes the messages of a seed. Most are ordinary; some expire soon, are never accepted, always meet a
// temporary error, or are not what the contract says.
func compose(seed uint64, count int) []*message {
	rnd := rand.New(rand.NewPCG(seed, 1))
	messages := make([]*message, count)
	for i := range messages {
		m := &message{index: i, class: "normal", destination: fmt.Sprintf("%s%07d", prefixGood, i), parts: 1}
		switch n := rnd.IntN(10); {
		case n < 2:
			m.class = "otp"
		case n < 5:
			m.class = "bulk"
		}
		q := queue.Message{ID: m.id(), From: "chaos", Text: fmt.Sprintf("message %d of seed %d", i, seed), Receipt: rnd.IntN(10) < 3}
		kind := rnd.IntN(1000)
		switch {
		case kind < 10:
			m.destination = fmt.Sprintf("%s%07d", prefixTerminal, i)
		case kind < 13:
			m.destination = fmt.Sprintf("%s%07d", prefixBroken, i)
			q.ExpiresIn = brokenLife
		case kind < 63:
			q.ExpiresIn = time.Duration(1000+rnd.IntN(6000)) * time.Millisecond
		case kind < 163:
			m.parts = 2 + rnd.IntN(3)
			q.Text += strings.Repeat(".", m.parts*partLength-len(q.Text))
		}
		q.To = "+" + m.destination
		m.payload, _ = json.Marshal(&q) // its parts can all be marshalled
		switch {
		case kind > 997:
			m.payload = m.payload[:len(m.payload)/2]
		case kind > 995:
			m.payload = append([]byte(`{"expire_in":"1s",`), m.payload[1:]...)
		}
		messages[i] = m
	}
	return messages
}

// publisher publishes messages as an application does: with JetStream, again after an error, and with a header that
// tells the repeats.
type publisher struct {
	js        jetstream.JetStream
	canceller *canceller

	mu      sync.Mutex
	refused int // publishes that failed, and were repeated
}

// partLength is how many characters of GSM 7-bit go into one part of a long message.
const partLength = 153

// brokenLife is the life of what always meets a temporary error: its attempts are spread over it.
const brokenLife = 2 * time.Minute

const (
	publishers    = 16
	publishAgain  = 200 * time.Millisecond
	publishWait   = 3 * time.Second
	doubleEvery   = 50 // each so many-th message is published twice on purpose
	burstPeriod   = 10 * time.Second
	burstShare    = 0.6 // of the messages come in
	burstDuration = 0.3 // of the period
)

// when is the time of the nth message of count: more than half of them come in bursts.
func when(n, count int, length time.Duration) time.Duration {
	periods := max(1, int(length/burstPeriod))
	each := length / time.Duration(periods)
	x := float64(n) / float64(count) * float64(periods)
	whole := float64(int(x))
	part := x - whole
	if part < burstShare {
		part *= burstDuration / burstShare
	} else {
		part = burstDuration + (part-burstShare)*(1-burstDuration)/(1-burstShare)
	}
	return time.Duration((whole + part) * float64(each))
}

// publish publishes everything over the given time, and returns when all is confirmed or ctx ends.
func (p *publisher) publish(ctx context.Context, messages []*message, length time.Duration) error {
	began := time.Now()
	todo := make(chan *message)
	var working sync.WaitGroup
	for range publishers {
		working.Go(func() {
			for m := range todo {
				p.one(ctx, m)
			}
		})
	}
	for n, m := range messages {
		if wait := when(n, len(messages), length) - time.Since(began); wait > 0 {
			pause(ctx, wait)
		}
		select {
		case todo <- m:
		case <-ctx.Done():
		}
	}
	close(todo)
	working.Wait()
	if ctx.Err() != nil {
		return fmt.Errorf("publishing: %w", ctx.Err())
	}
	return nil
}

// one publishes a message until that is confirmed.
func (p *publisher) one(ctx context.Context, m *message) {
	msg := nats.NewMsg("sms.mt." + route + "." + m.class)
	msg.Data = m.payload
	msg.Header.Set(jetstream.MsgIDHeader, route+":"+m.id())
	msg.Header.Set(queue.HeaderDeliveryID, m.id())
	times := 1
	if m.index%doubleEvery == 0 {
		times = 2
	}
	for times > 0 && ctx.Err() == nil {
		attempt, cancel := context.WithTimeout(ctx, publishWait)
		ack, err := p.js.PublishMsg(attempt, msg)
		cancel()
		if err == nil {
			m.seqs = append(m.seqs, ack.Sequence)
			if times--; m.index%cancelEvery == 1 {
				p.canceller.want(ack.Sequence)
			}
			continue
		}
		p.mu.Lock()
		p.refused++
		p.mu.Unlock()
		pause(ctx, publishAgain)
	}
}

// pause waits, or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
