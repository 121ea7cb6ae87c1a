package config

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"syscall"
)

// Defaults of the store of the embedded server.
const (
	mostStore    = 10 << 30
	shareOfDisk  = 80 // per cent of what is free, its own files counted as free
	leastStore   = 64 << 20
	defaultQueue = 1 << 30 // of an external server
)

// The shares of the store, in per cent. JetStream reserves what a stream may take, so that together they are no more
// than the store has.
const (
	shareQueue    = 25
	shareJournal  = 40
	shareInbound  = 10
	shareMO       = 5
	shareDeferred = 10
	shareBuckets  = 10
)

// Limits are the octets that each stream, and the buckets together, may take.
type Limits struct {
	// Store is what the embedded server may take; 0 for an external server.
	Store Size
	// The streams SMS_MT, SMS_EVENTS, SMS_IN, SMS_MO and SMS_DEFERRED, and the buckets.
	Queue, Journal, Inbound, MO, Deferred, Buckets Size
}

// Sum is what is reserved in all.
func (l *Limits) Sum() Size {
	return l.Queue + l.Journal + l.Inbound + l.MO + l.Deferred + l.Buckets
}

// Limits are the sizes in effect. With the embedded server those that are not set are shares of max_store: of what the
// ones that are set leave, if that is less.
func (c *Config) Limits() Limits {
	l := Limits{Queue: c.Streams.MaxBytes, Journal: c.Streams.JournalBytes}
	base := Size(0)
	if c.NATS.URL == "" {
		l.Store = c.NATS.Embedded.store()
		base = l.Store
	} else {
		if l.Queue == 0 {
			l.Queue = defaultQueue
		}
		if l.Journal == 0 {
			l.Journal = 4 * l.Queue
		}
		base = l.Queue * 100 / shareQueue
	}
	left, shares := base, Size(100)
	for _, set := range []struct{ size, share Size }{{l.Queue, shareQueue}, {l.Journal, shareJournal}} {
		if set.size != 0 {
			left -= set.size
			shares -= set.share
		}
	}
	share := func(percent Size) Size {
		size := base / 100 * percent
		if l.Store > 0 {
			size = min(size, left/shares*percent)
		}
		return max(size, 0)
	}
	if l.Queue == 0 {
		l.Queue = share(shareQueue)
	}
	if l.Journal == 0 {
		l.Journal = share(shareJournal)
	}
	l.Inbound, l.MO, l.Deferred, l.Buckets = share(shareInbound), share(shareMO), share(shareDeferred), share(shareBuckets)
	return l
}

// store is max_store, or its default: 80 % of the free disk, at most 10 GiB.
func (e *Embedded) store() Size {
	if e.MaxStore != 0 {
		return e.MaxStore
	}
	free, ok := e.free()
	if !ok {
		return mostStore
	}
	return min(mostStore, free/100*shareOfDisk)
}

// ServerStore is what the embedded server may reserve: max_store, or without it 80 % of the free disk, so that a gateway
// of another prefix may have its streams there too.
func (e *Embedded) ServerStore() Size {
	if free, ok := e.free(); ok && e.MaxStore == 0 {
		return max(free/100*shareOfDisk, 1)
	}
	return e.store()
}

// free is what the store may grow to before its disk is full.
func (e *Embedded) free() (free Size, ok bool) {
	dir := e.Dir
	used := Size(0)
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error { // what cannot be read counts as nothing
		if err == nil && d.Type().IsRegular() {
			if info, err := d.Info(); err == nil {
				used += Size(info.Size())
			}
		}
		return nil
	})
	for {
		var disk syscall.Statfs_t
		if syscall.Statfs(dir, &disk) == nil {
			return Size(disk.Bavail)*Size(disk.Bsize) + used, true
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return 0, false
		}
		dir = parent
	}
}

// limits checks that what is set fits into the store.
func (v *validator) limits() {
	e, s := &v.c.NATS.Embedded, &v.c.Streams
	if v.c.NATS.URL != "" {
		return
	}
	if e.MaxStore != 0 && e.MaxStore < leastStore {
		v.add("nats.embedded.max_store", e.MaxStore.String(), "is too small to work with", "use "+Size(leastStore).String()+" or more")
		return
	}
	if s.MaxBytes+s.JournalBytes == 0 {
		return
	}
	store := e.store()
	needed := store * (100 - shareQueue - shareJournal) / 400 // a quarter of the shares of the others
	if sum := s.MaxBytes + s.JournalBytes; sum+needed > store {
		what, remedy := "max_store", "raise it"
		if e.MaxStore == 0 {
			what, remedy = "80% of the free disk of nats.embedded.dir, and 10GiB at most", "set nats.embedded.max_store"
		}
		v.add("streams", "", fmt.Sprintf("max_bytes %s and journal_bytes %s are %s, and with %s for the other streams more than the store may take, %s (%s)",
			s.MaxBytes, s.JournalBytes, sum, needed, store, what), "lower them, or "+remedy)
	}
}

// overDisk warns of a store that the disk has no room for.
func (c *Config) overDisk(warn func(path, what string)) {
	e := &c.NATS.Embedded
	if c.NATS.URL != "" || e.MaxStore == 0 {
		return
	}
	if free, ok := e.free(); ok && e.MaxStore > free/100*shareOfDisk {
		warn("nats.embedded.max_store", fmt.Sprintf("is more than 80%% of the free disk, which has %s: a full disk stops the gateway before the limits do", (free>>20)<<20))
	}
}
