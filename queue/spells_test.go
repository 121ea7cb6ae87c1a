package queue

import (
	"testing"
	"time"
)

func TestSpellsAreKeptAndMended(t *testing.T) {
	b := newBench(t, benchConfig{})
	at := time.Now().UTC().Truncate(time.Second).Add(-time.Hour)
	for _, s := range []Spell{
		{at, at.Add(5 * time.Second)},
		{at, at.Add(time.Minute)}, // it went on
		{at, at.Add(time.Second)}, // said late
		{at.Add(10 * time.Minute), at.Add(11 * time.Minute)},
		{at.Add(20 * time.Minute), at}, // ends before it begins
	} {
		if err := b.client.NoteSpell(t.Context(), "acme", s); err != nil {
			t.Fatal(err)
		}
	}
	got, err := b.client.Spells(t.Context(), "acme")
	if err != nil || len(got) != 2 || !got[0].To.Equal(at.Add(time.Minute)) || !got[1].To.Equal(at.Add(11*time.Minute)) {
		t.Errorf("%v, %v; want a minute at 0 and one at 10m", got, err)
	}
	if other, err := b.client.Spells(t.Context(), "backup"); err != nil || len(other) != 0 {
		t.Errorf("another account: %v, %v", other, err)
	}
	for n := range 2 * mostSpells {
		from := at.Add(time.Duration(n) * time.Second)
		if err := b.client.NoteSpell(t.Context(), "busy", Spell{from, from}); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := b.client.Spells(t.Context(), "busy"); err != nil || len(got) != mostSpells {
		t.Errorf("%d are kept (%v), want the newest %d", len(got), err, mostSpells)
	}
}
