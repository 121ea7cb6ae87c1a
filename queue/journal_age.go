package queue

import (
	"context"
	"fmt"
	"time"
)

// NoteOldest reads when the oldest entry of the journal was stored, for the metric of its age: one question about the
// stream, whatever its size. Until the next call the metric grows from there.
func (j *Journal) NoteOldest(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	stream, err := j.client.js.Stream(ctx, j.names.events)
	if err != nil {
		return fmt.Errorf("stream %s: %w", j.names.events, err)
	}
	oldest := time.Time{}
	if state := stream.CachedInfo().State; state.Msgs > 0 {
		oldest = state.FirstTime
	}
	j.metrics.journalOldest.Store(&oldest)
	return nil
}

// oldestAge is the age in seconds of what was stored at a time; 0 when nothing was, and never below.
func oldestAge(stored *time.Time, now time.Time) float64 {
	if stored == nil || stored.IsZero() {
		return 0
	}
	return max(now.Sub(*stored), 0).Seconds()
}
