package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"sluice/gateway/admin"
	"sluice/queue"
)

// How long a command waits for the instances to follow it: they read what is wanted at once, or within 5 s.
const (
	applyPatience = 8 * time.Second
	applyLook     = 200 * time.Millisecond
)

func accountsCommand() *cli.Command {
	return &cli.Command{
		Name:         "accounts",
		Usage:        "show every account of every instance: state, share, rate, and which desired state is applied",
		UsageText:    "sluice accounts",
		OnUsageError: usageError,
		Flags:        natsFlags(outputFlag()),
		Action: func(c *cli.Context) error {
			client, err := connect(c)
			if err != nil {
				return err
			}
			defer client.Close()
			accounts, gathered, err := admin.Accounts(c.Context, client)
			if err != nil {
				return err
			}
			if c.String("output") == "json" {
				return printJSON(c.App.Writer, accounts)
			}
			return printAccounts(c, accounts, gathered)
		},
	}
}

func printAccounts(c *cli.Context, accounts []admin.Account, g admin.Gathered) error {
	rows := make([][]string, 0, len(accounts))
	for _, a := range accounts {
		rows = append(rows, []string{
			a.Account, a.Instance, a.State, ago(a.Since), strconv.Itoa(a.Binds), percent(a.Share), declared(a.Declared),
			limit(a.MaxWindow), rate(a.Pace), rate(a.Ceiling), strconv.Itoa(a.InFlight), a.Mode, strconv.FormatUint(a.Applied, 10),
		})
	}
	header := []string{
		"ACCOUNT", "INSTANCE", "STATE", "SINCE", "BINDS", "SHARE", "DECLARED", "WINDOW MAX", "PACE", "CEILING", "IN FLIGHT",
		"DESIRED", "REVISION",
	}
	if err := printTable(c.App.Writer, header, rows); err != nil {
		return err
	}
	for _, a := range accounts {
		if a.Reason == "" {
			continue
		}
		line := fmt.Sprintf("%s on %s: %s", a.Account, a.Instance, admin.Standing(a.State, a.Reason, a.Until))
		if err := printLine(c.App.Writer, line); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(c.App.ErrWriter, "%d of %d instances answered\n", g.Answered, g.Expected)
	return err
}

// limit is a cap; 0 is none.
func limit(n int) string {
	if n == 0 {
		return "-"
	}
	return strconv.Itoa(n)
}

// controlCommands change what an operator wants of an account.
func controlCommands() []*cli.Command {
	mode := func(name, usage string, m queue.Mode) *cli.Command {
		return controlCommand(name, usage, "sluice "+name+" acme", "ACCOUNT", nil, func(*cli.Context) (func(*queue.Desired), error) {
			return func(d *queue.Desired) {
				d.Mode = m
				if m == queue.ModeRun {
					d.ProbeAt = time.Now().UTC()
				}
			}, nil
		})
	}
	return []*cli.Command{
		mode("pause", "submit nothing for an account and keep its binds", queue.ModePause),
		mode("resume", "end a pause or a drain, and probe an account at once that the SMSC refuses", queue.ModeRun),
		mode("drain", "finish what is in flight for an account, then unbind it", queue.ModeDrain),
		controlCommand("rate", "set the rate of an account over all instances, in submits a second",
			"sluice rate acme 80\nsluice rate acme learn\nsluice rate acme configured", "ACCOUNT RATE|learn|configured", nil, changeRate),
		controlCommand("window", "cap the submits without an answer of an account over all instances, or forget what was learned",
			"sluice window acme --max 20\nsluice window acme --max configured\nsluice window acme --forget", "ACCOUNT", []cli.Flag{
				&cli.StringFlag{Name: "max", Usage: "most submits without an answer: a `NUMBER`, 0 for no cap, or configured"},
				&cli.BoolFlag{Name: "forget", Usage: "drop what was learned of the ceiling and start again"},
			}, changeWindow),
	}
}

func controlCommand(
	name, usage, text, args string, flags []cli.Flag, parse func(*cli.Context) (func(*queue.Desired), error),
) *cli.Command {
	return &cli.Command{
		Name: name, Usage: usage, UsageText: text, ArgsUsage: args, OnUsageError: usageError,
		Flags: natsFlags(append(flags, outputFlag())...),
		Action: func(c *cli.Context) error {
			account := c.Args().First()
			if account == "" {
				return cli.Exit(name+" needs an account: see --help", 2)
			}
			if err := queue.CheckName("account", account); err != nil {
				return cli.Exit(err.Error(), 2)
			}
			change, err := parse(c)
			if err != nil {
				return err
			}
			return control(c, account, change)
		},
	}
}

func changeRate(c *cli.Context) (func(*queue.Desired), error) {
	arg := c.Args().Get(1)
	switch arg {
	case "learn":
		return func(d *queue.Desired) { d.Rate = new(float64) }, nil
	case "configured":
		return func(d *queue.Desired) { d.Rate = nil }, nil
	}
	v, err := strconv.ParseFloat(arg, 64)
	if err != nil || v == 0 || queue.CheckRate(v) != nil {
		return nil, cli.Exit(fmt.Sprintf("rate %q: want submits a second from 0.01 to 1000000, learn, or configured", arg), 2)
	}
	return func(d *queue.Desired) { d.Rate = &v }, nil
}

func changeWindow(c *cli.Context) (func(*queue.Desired), error) {
	arg := c.String("max")
	if arg == "" && !c.Bool("forget") {
		return nil, cli.Exit("window needs --max or --forget: see --help", 2)
	}
	n, err := strconv.Atoi(arg)
	if arg != "" && arg != "configured" && (err != nil || queue.CheckWindow(n) != nil) {
		return nil, cli.Exit(fmt.Sprintf("--max %q: want a number from 0 (no cap) to 10000, or configured", arg), 2)
	}
	return func(d *queue.Desired) {
		switch arg {
		case "":
		case "configured":
			d.MaxWindow = nil
		default:
			d.MaxWindow = &n
		}
		if c.Bool("forget") {
			d.ForgetAt = time.Now().UTC()
		}
	}, nil
}

// applied is the answer of a control command.
type applied struct {
	Account  string   `json:"account"`
	Revision uint64   `json:"revision"`
	Applied  int      `json:"applied"`
	Expected int      `json:"expected"`
	Missing  []string `json:"missing,omitempty"` // instances that have not followed yet
}

// control writes a change of what is wanted and waits until every instance follows it.
func control(c *cli.Context, account string, change func(*queue.Desired)) error {
	client, err := connect(c)
	if err != nil {
		return err
	}
	defer client.Close()
	if err := knownAccount(c.Context, client, account); err != nil {
		return explain(err)
	}
	desired, err := client.ChangeDesired(c.Context, account, change)
	if err != nil {
		return explain(err)
	}
	result, err := awaitApplied(c.Context, client, account, desired.Revision)
	if err != nil {
		return fmt.Errorf("the change is stored; whether it is applied is not known: %w", err)
	}
	if c.String("output") == "json" {
		return printJSON(c.App.Writer, result)
	}
	return printLine(c.App.Writer, result.String())
}

func (r applied) String() string {
	switch {
	case r.Expected == 0:
		return r.Account + ": stored; no gateway runs, it takes effect at the next start"
	case len(r.Missing) > 0:
		return fmt.Sprintf("%s: %d of %d applied; stored, and the others follow when they can: %s",
			r.Account, r.Applied, r.Expected, strings.Join(r.Missing, ", "))
	}
	return fmt.Sprintf("%s: %d of %d applied", r.Account, r.Applied, r.Expected)
}

// knownAccount refuses an account that no running instance serves.
func knownAccount(ctx context.Context, client *queue.Client, account string) error {
	instances, err := client.Instances(ctx)
	if err != nil || len(instances) == 0 {
		return err
	}
	var names []string
	for _, i := range instances {
		if i.Unreadable != nil {
			return nil // it may serve it
		}
		for name := range i.Parts {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	if slices.Contains(names, account) {
		return nil
	}
	return fmt.Errorf("no running instance has an account %q: there are %s", account, strings.Join(slices.Compact(names), ", "))
}

// awaitApplied waits until every live instance that serves the account follows the revision, and no longer than it takes
// one that is well.
func awaitApplied(ctx context.Context, client *queue.Client, account string, revision uint64) (applied, error) {
	deadline := time.Now().Add(applyPatience)
	for {
		instances, err := client.Instances(ctx)
		if err != nil {
			return applied{}, err
		}
		accounts, _, err := admin.Accounts(ctx, client)
		if err != nil && !errors.Is(err, admin.ErrNoInstance) {
			return applied{}, err
		}
		r := tally(instances, accounts, account, revision)
		if len(r.Missing) == 0 || time.Now().After(deadline) {
			return r, nil
		}
		select {
		case <-time.After(applyLook):
		case <-ctx.Done():
			return r, ctx.Err()
		}
	}
}

// tally counts the instances that live and follow the revision.
func tally(instances []queue.Instance, accounts []admin.Account, account string, revision uint64) applied {
	follows := map[string]bool{}
	for _, a := range accounts {
		if a.Account == account {
			follows[a.Instance] = a.Applied >= revision
		}
	}
	for _, i := range instances {
		if _, serves := i.Parts[account]; (serves || i.Unreadable != nil) && !follows[i.Name] {
			follows[i.Name] = false
		}
	}
	r := applied{Account: account, Revision: revision, Expected: len(follows)}
	for name, ok := range follows {
		if ok {
			r.Applied++
		} else {
			r.Missing = append(r.Missing, name)
		}
	}
	slices.SortFunc(r.Missing, cmp.Compare[string])
	return r
}
