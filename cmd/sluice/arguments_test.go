package main

import (
	"errors"
	"io"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// exitStatus is the status of a process that sluice ran; -1 when it did not end by itself.
func exitStatus(err error) int {
	if err == nil {
		return 0
	}
	if e, ok := errors.AsType[*exec.ExitError](err); ok {
		return e.ExitCode()
	}
	return -1
}

func TestEveryCommandRefusesWordsTooMany(t *testing.T) {
	for _, cmd := range app(io.Discard, io.Discard).Commands {
		if len(cmd.Subcommands) > 0 || cmd.Name == "help" || cmd.Name == "send" {
			continue
		}
		words := []string{"one", "two", "three"}[:max(2, len(strings.Fields(cmd.ArgsUsage))+1)]
		args := slices.Concat([]string{cmd.Name}, words, []string{"--output", "json"})
		out, errs, err := sluice(t, args...)
		if exitStatus(err) != 2 || out != "" {
			t.Errorf("sluice %v: %v, and prints %q", args, err, out)
		}
		contains(t, cmd.Name, errs, strconv.Quote(words[len(words)-1]), "quotes", "flags before arguments")
	}
	_, errs, err := sluice(t, "bind", "show", "acme", "extra")
	if exitStatus(err) != 2 {
		t.Errorf("bind show of two: %v", err)
	}
	contains(t, "bind show", errs, "bind show takes ACCOUNT[/N] only", `"extra"`)
}

func TestSendPublishesNothingOfATextWithoutQuotes(t *testing.T) {
	for _, text := range [][]string{{"Geheim", "parcel", "left", "today."}, {"Geheim", "help", "left", "today."}, {"Geheim", "h", "left", "today."}} {
		out, errs, err := sluice(t, slices.Concat([]string{"send", "--to", "+41791", "--text"}, text, []string{"--wait"})...)
		if exitStatus(err) != 2 || out != "" {
			t.Errorf("%v: %v, and prints %q", text, err, out)
		}
		contains(t, "the error", errs, "send takes no argument, and 4 came, the first as word 6 after sluice", "quotes")
		for _, part := range append(text[:1], "left", "today", "41791") {
			if strings.Contains(errs, part) {
				t.Errorf("the error shows %q:\n%s", part, errs)
			}
		}
	}
	if _, _, err := sluice(t, "--", "send", "--to", "+41791", "--text", "Your", "parcel"); exitStatus(err) != 2 {
		t.Errorf("after --: %v", err)
	}
}

func TestFlagsMayFollowTheArgument(t *testing.T) {
	out, errs, err := sluice(t, "codes", "0x58", "-o", "json")
	if err != nil || !strings.HasPrefix(out, "[") {
		t.Errorf("codes 0x58 -o json: %v: %s%s", err, out, errs)
	}
	contains(t, "codes 0x58 -o json", out, "ESME_RTHROTTLED")
	_, errs, err = sluice(t, "bind", "show", "acme", "--nats", "nats://127.0.0.1:1")
	if exitStatus(err) != 1 {
		t.Errorf("bind show acme --nats: %v", err)
	}
	contains(t, "bind show acme --nats", errs, "nats://127.0.0.1:1")
}

func TestFlagsFirst(t *testing.T) {
	commands := app(io.Discard, io.Discard).Commands
	for given, want := range map[string]string{
		"codes":                         "codes",
		"codes 0x58":                    "codes -- 0x58",
		"codes 0x58 -o json":            "codes -o json -- 0x58",
		"codes 0x58 -o=json":            "codes -o=json -- 0x58",
		"codes 0x58 --output=json -c x": "codes --output=json -c x -- 0x58",
		"codes -o json 0x58 1":          "codes -o json -- 0x58 1",
		"codes -o json -- -o":           "codes -o json -- -o",
		"codes - -o":                    "codes -o -- -",
		"codes -o -- 0x58":              "codes -o -- -- 0x58", // as the library reads it: -- is the value
		"codes 0x58 --wat x":            "codes --wat -- 0x58 x",
		"codes 0x58 --help":             "codes --help -- 0x58",
		"bind show acme --nats U":       "bind show --nats U -- acme",
		"bind nope --nats U":            "bind nope --nats U",
		"send --text a b --wait":        "send --text a b --wait",
		"--version codes 1 -o json":     "--version codes 1 -o json",
		"":                              "",
	} {
		args := append([]string{"sluice"}, strings.Fields(given)...)
		if got := strings.Join(flagsFirst(commands, args)[1:], " "); got != want {
			t.Errorf("%q becomes %q, want %q", given, got, want)
		}
	}
}

func TestSubcommandsAreNamed(t *testing.T) {
	for _, args := range [][]string{{"bind", "nope"}, {"bind", "help"}, {"bind"}} {
		_, errs, err := sluice(t, args...)
		if exitStatus(err) != 2 {
			t.Errorf("sluice %v: %v", args, err)
		}
		contains(t, "the error", errs, "subcommand", "`sluice bind show`")
	}
}

func TestRequiredFlagsAreNamed(t *testing.T) {
	for _, args := range [][]string{{"run"}, {"check"}, {"simulate"}} {
		out, errs, err := sluice(t, args...)
		if exitStatus(err) != 2 || out != "" {
			t.Errorf("sluice %v: %v, and prints %q", args, err, out)
		}
		contains(t, "the error", errs, args[0]+" needs --")
	}
}

func TestFlagsBeforeTheCommandAreNamed(t *testing.T) {
	for _, args := range [][]string{{"--nats", "nats://127.0.0.1:1", "binds"}, {"--prefix", "x", "bind", "show", "acme"}} {
		out, errs, err := sluice(t, args...)
		if exitStatus(err) != 2 || out != "" {
			t.Errorf("sluice %v: %v, and prints %q", args, err, out)
		}
		contains(t, args[0], errs, args[0]+" is a flag of the commands: write it behind the command")
	}
	_, errs, _ := sluice(t, "--nonsense", "binds")
	contains(t, "a flag that no command has", errs, "flag provided but not defined: -nonsense: see --help")
}
