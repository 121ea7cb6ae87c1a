package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// process is a program that is kept running, and broken on purpose.
type process struct {
	name string
	args func() []string // of its next start, the program first
	log  string          // the file that its output is appended to

	mu      sync.Mutex
	command *exec.Cmd
	ended   chan struct{} // closed when command has ended
	wanted  bool          // it is to be started again when it ends by itself
	crashes int           // kill -9
	freezes int
	exits   int // ends by itself
	lastErr error
}

const (
	restartAfter = 500 * time.Millisecond // as a supervisor would
	stopPatience = 90 * time.Second       // for an orderly end, as systemd has it: silent peers cost all their bounds
)

// start runs the program unless it runs.
func (p *process) start() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.wanted = true
	return p.startLocked()
}

func (p *process) startLocked() error {
	if p.command != nil {
		return nil
	}
	log, err := os.OpenFile(p.log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("starting %s: %w", p.name, err)
	}
	args := p.args()
	// The processes outlive every context: they end by signals alone.
	command := exec.CommandContext(context.Background(), args[0], args[1:]...)
	command.Stdout, command.Stderr = log, log
	command.Env = append(os.Environ(), "CHAOS_PASSWORD=secret")
	err = command.Start()
	_ = log.Close() // the child has its own
	if err != nil {
		return fmt.Errorf("starting %s: %w", p.name, err)
	}
	p.command, p.ended = command, make(chan struct{})
	go p.await(command, p.ended)
	return nil
}

// await notes the end of the program, and starts it again when nobody asked for it.
func (p *process) await(command *exec.Cmd, ended chan struct{}) {
	err := command.Wait()
	p.mu.Lock()
	p.command = nil
	again := p.wanted
	if again {
		p.exits++
		p.lastErr = err
	}
	p.mu.Unlock()
	close(ended)
	if !again {
		return
	}
	<-time.After(restartAfter)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.wanted {
		if err := p.startLocked(); err != nil {
			p.lastErr = err
		}
	}
}

// signal sends a signal to the program when it runs; with down it is not to be started again by itself.
func (p *process) signal(s syscall.Signal, down bool) (ended <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if down {
		p.wanted = false
	}
	if p.command == nil {
		return nil
	}
	_ = p.command.Process.Signal(s) // it may have ended just now
	return p.ended
}

// kill is kill -9.
func (p *process) kill() {
	ended := p.signal(syscall.SIGKILL, true)
	if ended == nil {
		return
	}
	<-ended
	p.mu.Lock()
	defer p.mu.Unlock()
	p.crashes++
}

// stop ends the program in order, and by force when that takes too long.
func (p *process) stop() (forced bool) {
	p.signal(syscall.SIGCONT, false)
	ended := p.signal(syscall.SIGTERM, true)
	if ended == nil {
		return false
	}
	timer := time.NewTimer(stopPatience)
	defer timer.Stop()
	select {
	case <-ended:
		return false
	case <-timer.C:
		p.signal(syscall.SIGQUIT, true) // leaves the stacks in the log
	}
	timer.Reset(stopPatience / 10)
	select {
	case <-ended:
	case <-timer.C:
		p.kill()
	}
	return true
}

func (p *process) freeze() {
	if p.signal(syscall.SIGSTOP, false) == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.freezes++
}

func (p *process) thaw() { p.signal(syscall.SIGCONT, false) }
