package queue

import (
	"context"
	"sync"
	"time"

	"sluice/queue/turn"
)

const (
	// latelyMost and latelyFor bound the events that are remembered. A server confirms a write some milliseconds before
	// it is on the disk.
	latelyMost = 4096
	latelyFor  = 2 * time.Second
)

// lately holds the events that were confirmed last. A server whose disk becomes full has confirmed some that it could
// then not write, and has forgotten them when it is started again: the message of such an outcome has left the queue by
// then, and would have none.
type lately struct {
	mu     sync.Mutex
	events []confirmedEvent // a ring
	next   int

	restoring turn.Turn // one after the other: two would each store what is missing
}

type confirmedEvent struct {
	event     *Event
	published time.Time // of the message
	at        time.Time // of the confirmation
}

func (l *lately) note(e *Event, published, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := confirmedEvent{e, published, now}
	if len(l.events) < latelyMost {
		l.events = append(l.events, c)
		return
	}
	l.events[l.next] = c
	l.next = (l.next + 1) % latelyMost
}

// since returns the events that were confirmed at a time or later, the oldest first.
func (l *lately) since(from time.Time) (list []confirmedEvent) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range l.events {
		if c := l.events[(l.next+i)%len(l.events)]; !c.at.Before(from) {
			list = append(list, c)
		}
	}
	return list
}

// restore looks for the events that were confirmed shortly before the journal failed, and stores again what the server
// has lost of them.
func (j *Journal) restore(failed time.Time) {
	ctx, cancel := j.whileOpen()
	defer cancel()
	if j.lately.restoring.Take(ctx) != nil {
		return // the journal is closed
	}
	defer j.lately.restoring.Give()
	lost := 0
	// A failure is known only when the confirmation of a later write has not come for its whole time.
	for _, c := range j.lately.since(failed.Add(-j.timeout - latelyFor)) {
		select {
		case <-j.stop:
			return
		default:
		}
		var found *Event
		err := j.persist(ctx, "", "reading what was confirmed before the journal failed", func(ctx context.Context) (err error) {
			found, err = j.client.storedEvent(ctx, c.event, c.published)
			return err
		})
		if err == nil && found == nil {
			err = j.store(ctx, c.event, storeOptions{doubt: true, published: c.published})
			lost++
		}
		if err != nil {
			return // the journal is closed
		}
	}
	if lost > 0 {
		j.client.logger.Warn("events were stored again that the server had confirmed and lost", "events", lost)
	}
}
