package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"
)

// options are what a run is started with.
type options struct {
	seed     uint64
	messages int
	length   time.Duration
	patience time.Duration
	short    bool
	keep     bool // the store of NATS, which is on a file system of its own
	bin, dir string
	plan     []fault
}

// The waits of the gateways, shortened so that a run sees many of them: a pause of 20 s is here what two hours are to
// the defaults.
const (
	ackWait      = 10 * time.Second
	unknownAfter = 6 * time.Second
	windowMost   = 50
	unknownMost  = 1
)

// rig is everything that runs.
type rig struct {
	options
	disk      *disk
	processes map[string]*process
	links     map[string]*link
	behaviour *behaviour
	natsURL   string // around the links
	ledger    string
	health    map[string]string // addresses of the gateways
	ports     map[string]bool   // given out
	cancel    context.CancelFunc

	mu     sync.Mutex
	struck []struck
}

// struck is a fault as it was carried out.
type struck struct {
	fault
	began, ended time.Time
}

func (r *rig) note(s struck) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.struck = append(r.struck, s)
}

func build(ctx context.Context, o options) (r *rig, err error) {
	// Links and behaviour live until close, whatever happens to ctx.
	running, cancel := context.WithCancel(context.WithoutCancel(ctx))
	r = &rig{
		options: o, processes: map[string]*process{}, links: map[string]*link{}, health: map[string]string{}, cancel: cancel,
		ports:  map[string]bool{},
		ledger: filepath.Join(o.dir, "ledger.jsonl"),
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, r.close(true))
		}
	}()
	if r.disk, err = newDisk(ctx, filepath.Join(o.dir, "disk")); err != nil {
		return r, err
	}
	natsAddress, smscAddress := r.freeAddress(ctx), r.freeAddress(ctx)
	r.natsURL = "nats://" + natsAddress
	self, err := os.Executable()
	if err != nil {
		return r, err
	}
	_, port, _ := net.SplitHostPort(natsAddress)
	r.disk.server = r.add(broker, func() []string {
		return []string{self, "nats-server", "--store", r.disk.store(), "--port", port}
	})
	r.behaviour = &behaviour{
		file: filepath.Join(o.dir, "scenario.yaml"), control: r.freeAddress(ctx),
		rate: max(100, 3*float64(o.messages)/o.length.Seconds()),
	}
	r.add(smsc, func() []string {
		if err := r.behaviour.next(); err != nil {
			fmt.Fprintln(os.Stderr, "chaos: the SMSC's scenario:", err)
		}
		return []string{
			filepath.Join(o.bin, "fakesmsc"), "--scenario", r.behaviour.file, "--listen", smscAddress,
			"--http", r.behaviour.control, "--ledger", r.ledger, "--seed", strconv.FormatUint(o.seed, 10),
		}
	})
	go r.behaviour.follow(running)
	for _, g := range []string{gateway1, gateway2} {
		if err := r.addGateway(running, g, natsAddress, smscAddress); err != nil {
			return r, err
		}
	}
	return r, nil
}

func (r *rig) add(name string, args func() []string) *process {
	p := &process{name: name, args: args, log: filepath.Join(r.dir, name+".log")}
	r.processes[name] = p
	return p
}

// addGateway makes the links of a gateway and writes its configuration.
func (r *rig) addGateway(running context.Context, name, natsAddress, smscAddress string) (err error) {
	for link, target := range map[string]string{natsLink(name): natsAddress, smppLink(name): smscAddress} {
		if r.links[link], err = newLink(running, link, target); err != nil {
			return err
		}
	}
	r.health[name] = r.freeAddress(running)
	file := filepath.Join(r.dir, name+".yaml")
	yaml := fmt.Sprintf(`instance: %s
nats: {url: "nats://%s"}
streams: {ack_wait: %v, max_bytes: 256MiB}
http: %s
accounts:
  smsc:
    address: %s
    system_id: chaos
    password: {env: CHAOS_PASSWORD}
    binds: 2
    response_timeout: %v
    enquire_link: {interval: 3s, timeout: 3s}
    unknown: {after: %v, max: %d}
    window: {max: %d}
routes:
  %s: {accounts: [smsc], expires_in: 24h}
`, name, r.links[natsLink(name)].address(), ackWait, r.health[name], r.links[smppLink(name)].address(),
		responseTimeout, unknownAfter, unknownMost, windowMost, route)
	if err := os.WriteFile(file, []byte(yaml), 0o600); err != nil {
		return err
	}
	r.add(name, func() []string {
		return []string{filepath.Join(r.bin, "sluice"), "run", "-c", file, "--log-format", "json", "--log-level", "info"}
	})
	return nil
}

// start brings everything up.
func (r *rig) start(ctx context.Context) error {
	for _, name := range []string{broker, smsc} {
		if err := r.processes[name].start(); err != nil {
			return err
		}
	}
	for _, name := range []string{gateway1, gateway2} {
		if err := r.processes[name].start(); err != nil {
			return err
		}
		if err := r.ready(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// readyPatience is how long a gateway may take to be bound, on a machine that is busy with other things.
const readyPatience = 3 * time.Minute

// ready waits until a gateway is bound.
func (r *rig) ready(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(ctx, readyPatience)
	defer cancel()
	for ctx.Err() == nil {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+r.health[name]+"/status?account=smsc", nil)
		if err != nil {
			return err
		}
		response, err := http.DefaultClient.Do(request)
		if err == nil {
			_ = response.Body.Close()
			if response.StatusCode == http.StatusOK {
				return nil
			}
		}
		pause(ctx, 100*time.Millisecond)
	}
	return fmt.Errorf("%s does not become ready; see %s", name, r.processes[name].log)
}

// heal ends every fault.
func (r *rig) heal() error {
	var faults []error
	for _, l := range r.links {
		l.open()
	}
	for _, name := range []string{broker, smsc, gateway1, gateway2} {
		r.processes[name].thaw()
		faults = append(faults, r.processes[name].start())
	}
	return errors.Join(faults...)
}

// stop ends the named processes in order, and names those that had to be forced.
func (r *rig) stop(names ...string) (forced []string) {
	for _, name := range names {
		if p := r.processes[name]; p != nil && p.stop() {
			forced = append(forced, name)
		}
	}
	return forced
}

// close ends all that is left. With save the store of NATS is kept.
func (r *rig) close(save bool) error {
	for _, p := range r.processes {
		p.signal(9, true)
		p.kill()
	}
	for _, l := range r.links {
		if l != nil {
			l.close()
		}
	}
	r.cancel()
	if r.disk == nil {
		return nil
	}
	return r.disk.close(save)
}

// Ports are taken from below those that systems give to clients, so that none is gone when its server is started again.
const (
	portFirst = 18000
	portCount = 14000
	portTries = 100
)

// freeAddress is a port of loopback that is free now and was not given out before; empty when there is none, which the
// next listener reports.
func (r *rig) freeAddress(ctx context.Context) string {
	for range portTries {
		address := net.JoinHostPort("127.0.0.1", strconv.Itoa(portFirst+rand.IntN(portCount)))
		l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
		if err != nil || r.ports[address] {
			continue
		}
		r.ports[address] = true
		_ = l.Close()
		return address
	}
	return ""
}
