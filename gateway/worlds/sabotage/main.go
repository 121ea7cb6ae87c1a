// Command sabotage tests the tests: it breaks one line of the delivery at a time, builds the worlds with it, and runs
// seed after seed until one of them breaks a promise that the unbroken code keeps. A sabotage that no seed finds is a
// promise that nobody holds.
//
//	go run ./gateway/worlds/sabotage --seeds 300
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"iter"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

func main() {
	seeds := flag.Int("seeds", 300, "worlds to try with each sabotage, after the one that found it before")
	from := flag.Int("from", 1, "the first seed")
	jobs := flag.Int("jobs", runtime.NumCPU(), "sabotages at work at once")
	only := flag.String("only", "", "the sabotages whose name matches this `EXPRESSION`")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Stdout, *from, *seeds, max(*jobs, 1), *only); err != nil {
		fmt.Fprintln(os.Stderr, "sabotage:", err)
		os.Exit(1)
	}
}

// hunt is a run over sabotages.
type hunt struct {
	dir         string
	whole       string // the binary without a sabotage
	from, seeds int

	mu      sync.Mutex
	without map[int]*sync.Once // by seed
	fails   map[int]bool       // worlds that break a promise without a sabotage
}

// finding is what became of one sabotage.
type finding struct {
	seed    int // 0: no seed found it
	promise string
	cpu     time.Duration // of all worlds
	err     error
}

func run(ctx context.Context, out io.Writer, from, seeds, jobs int, only string) error {
	chosen, err := choose(only)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "sabotage")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	h := &hunt{dir: dir, whole: filepath.Join(dir, "whole.test"), from: from, seeds: seeds, without: map[int]*sync.Once{}, fails: map[int]bool{}}
	if err := build(ctx, h.whole); err != nil {
		return err
	}
	var mu sync.Mutex
	var working sync.WaitGroup
	var errs []error
	found, free := 0, make(chan struct{}, jobs)
	_, _ = fmt.Fprintln(out, "| sabotage | must break | seed | processor time | said |\n|---|---|---:|---:|---|")
	for _, s := range chosen {
		free <- struct{}{}
		working.Go(func() {
			defer func() { <-free }()
			f := h.find(ctx, &s)
			mu.Lock()
			defer mu.Unlock()
			seed := "none"
			switch {
			case f.err != nil:
				errs = append(errs, fmt.Errorf("%s: %w", s.name, f.err))
				return
			case f.seed > 0:
				found++
				seed = strconv.Itoa(f.seed)
			}
			_, _ = fmt.Fprintf(out, "| %s | %s | %s | %.0f s | %s |\n", s.name, s.promise, seed, f.cpu.Seconds(), f.promise)
		})
	}
	working.Wait()
	_, _ = fmt.Fprintf(out, "\nfound %d of %d within %d seeds from %d on\n", found, len(chosen), seeds, from)
	if len(errs) == 0 && found < len(chosen) {
		errs = append(errs, fmt.Errorf("%d sabotages were not found", len(chosen)-found))
	}
	return errors.Join(errs...)
}

// choose lists the sabotages of that name, and says which of them no longer fit the code.
func choose(only string) (chosen []sabotage, err error) {
	wanted, err := regexp.Compile(only)
	if err != nil {
		return nil, fmt.Errorf("--only: %w", err)
	}
	for _, s := range sabotages() {
		if wanted.MatchString(s.name) {
			chosen = append(chosen, s)
			_, broken := s.text()
			err = errors.Join(err, broken)
		}
	}
	if err == nil && len(chosen) == 0 {
		return nil, fmt.Errorf("--only: no sabotage has a name like %q", only)
	}
	return chosen, err
}

// text is the file with the one line replaced.
func (s *sabotage) text() ([]byte, error) {
	text, err := os.ReadFile(s.file)
	if err != nil {
		return nil, fmt.Errorf("sabotage %s: %w", s.name, err)
	}
	if n := bytes.Count(text, []byte(s.old)); n != 1 {
		return nil, fmt.Errorf("sabotage %s: %s has the text %q %d times, want once: fit the table to the code", s.name, s.file, s.old, n)
	}
	return bytes.Replace(text, []byte(s.old), []byte(s.new), 1), nil
}

// find builds the worlds with the sabotage and runs them until one breaks a promise that it keeps without.
func (h *hunt) find(ctx context.Context, s *sabotage) (f finding) {
	dir := filepath.Join(h.dir, s.name)
	binary, err := s.build(ctx, dir)
	if err != nil {
		return finding{err: err}
	}
	defer func() { _ = os.RemoveAll(dir) }()
	for seed := range h.order(s) {
		said, cpu, err := world(ctx, binary, dir, seed)
		f.cpu += cpu
		if ctx.Err() != nil {
			return finding{err: ctx.Err()}
		}
		if err != nil && !brokeAPromise(err) {
			return finding{err: err}
		}
		if err == nil {
			continue
		}
		if h.failsWithout(ctx, seed) {
			continue // the sabotage is not the reason
		}
		f.seed, f.promise = seed, broken(said)
		return f
	}
	return f
}

// order is the seeds to try: the one that has found the sabotage before, then all.
func (h *hunt) order(s *sabotage) iter.Seq[int] {
	return func(yield func(int) bool) {
		if s.seed > 0 && !yield(s.seed) {
			return
		}
		for seed := h.from; seed < h.from+h.seeds; seed++ {
			if seed != s.seed && !yield(seed) {
				return
			}
		}
	}
}

// failsWithout says that the world of a seed breaks a promise without any sabotage.
func (h *hunt) failsWithout(ctx context.Context, seed int) bool {
	h.mu.Lock()
	once := h.without[seed]
	if once == nil {
		once = new(sync.Once)
		h.without[seed] = once
	}
	h.mu.Unlock()
	once.Do(func() {
		if said, _, err := world(ctx, h.whole, h.dir, seed); err != nil && ctx.Err() == nil {
			fmt.Fprintf(os.Stderr, "sabotage: world %d fails without a sabotage, and counts for none: %s\n", seed, broken(said))
			h.mu.Lock()
			defer h.mu.Unlock()
			h.fails[seed] = true
		}
	})
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.fails[seed]
}

func brokeAPromise(err error) bool {
	_, ended := errors.AsType[*exec.ExitError](err)
	return ended
}

// build makes the test binary with the one line replaced.
func (s *sabotage) build(ctx context.Context, dir string) (binary string, err error) {
	text, err := s.text()
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return "", err
	}
	changed := filepath.Join(dir, filepath.Base(s.file))
	if err := os.WriteFile(changed, text, 0o600); err != nil {
		return "", err
	}
	source, err := filepath.Abs(s.file)
	if err != nil {
		return "", err
	}
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {source: changed}})
	if err != nil {
		return "", err
	}
	list := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(list, overlay, 0o600); err != nil {
		return "", err
	}
	binary = filepath.Join(dir, "worlds.test")
	return binary, build(ctx, binary, "-overlay", list)
}

// build makes the test binary of the worlds.
func build(ctx context.Context, binary string, flags ...string) error {
	args := slices.Concat([]string{"test", "-c", "-vet=off", "-o", binary}, flags, []string{"./gateway/worlds"})
	if out, err := exec.CommandContext(ctx, "go", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("building the worlds: %w: %s", err, out)
	}
	return nil
}

// world runs one seed in a process of its own. One that stands still has failed.
func world(ctx context.Context, binary, dir string, seed int) (said string, cpu time.Duration, err error) {
	cmd := exec.CommandContext(ctx, binary, "-test.run", "^TestWorlds$", "-test.v", "-test.timeout", "60s")
	cmd.Env = append(os.Environ(), "GOMAXPROCS=1", "SEED="+strconv.Itoa(seed), "WORLDS_DIR="+dir, "TMPDIR="+dir)
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState != nil {
		cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	}
	return string(out), cpu, err
}

var (
	complaint = regexp.MustCompile(`(?m)^\s+worlds_test\.go:\d+: (.*)$`)
	notes     = regexp.MustCompile(`^(\d+ instances|\d+ worlds|its trace)`)
)

// broken is the first complaint of a world.
func broken(said string) string {
	for _, m := range complaint.FindAllStringSubmatch(said, -1) {
		if !notes.MatchString(m[1]) {
			return shorten(m[1])
		}
	}
	if strings.Contains(said, "panic: test timed out") {
		return "the world stands still"
	}
	if _, after, ok := strings.Cut(said, "panic:"); ok {
		line, _, _ := strings.Cut(after, "\n")
		return "panic:" + shorten(line)
	}
	return "the world ended with an error"
}

func shorten(s string) string {
	if r := []rune(s); len(r) > 110 {
		return string(r[:109]) + "…"
	}
	return s
}
