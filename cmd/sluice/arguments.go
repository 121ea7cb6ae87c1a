package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
)

// strict makes every command refuse what it would otherwise ignore: arguments beyond those that its ArgsUsage names, one
// a word, and subcommands that do not exist. A word too many is most often a text without quotes, and the flags after
// it were not read either. parents are the names before those of the commands.
func strict(parents string, commands []*cli.Command) []*cli.Command {
	for _, cmd := range commands {
		name := parents + cmd.Name
		cmd.HideHelpCommand = true // else `help` inside a text without quotes is taken for the command
		if len(cmd.Subcommands) > 0 {
			strict(name+" ", cmd.Subcommands)
			cmd.Action = func(c *cli.Context) error { return needSubcommand(c, name) }
			continue
		}
		most, required, action := len(strings.Fields(cmd.ArgsUsage)), takeOverRequired(cmd.Flags), cmd.Action
		cmd.Action = func(c *cli.Context) error {
			if err := errors.Join(refuseSurplus(c, name, most), refuseEmpty(c)); err != nil {
				return err
			}
			for _, flag := range required {
				if !c.IsSet(flag) {
					return cli.Exit(fmt.Sprintf("%s needs --%s: see --help", name, flag), 2)
				}
			}
			return action(c)
		}
	}
	return commands
}

// takeOverRequired returns the names of the required flags. The library would miss them before anybody sees that they
// are there, behind a word too many.
func takeOverRequired(flags []cli.Flag) []string {
	var names []string
	for _, f := range flags {
		if s, ok := f.(*cli.StringFlag); ok && s.Required {
			s.Required = false
			names = append(names, s.Name)
		}
	}
	return names
}

func refuseSurplus(c *cli.Context, name string, most int) error {
	args := c.Args().Slice()
	if len(args) <= most {
		return nil
	}
	takes := "no argument"
	if most > 0 {
		takes = c.Command.ArgsUsage + " only"
	}
	surplus := args[most:]
	found := fmt.Sprintf("too many are %q", surplus)
	if c.Command.Name == "send" { // these are parts of a text, or a number
		word := c.Lineage()[1].Args().Len() - len(surplus) + 1
		found = fmt.Sprintf("%d came, the first as word %d after sluice", len(surplus), word)
	}
	return cli.Exit(fmt.Sprintf("%s takes %s, and %s: put quotes around a value with spaces, and flags before arguments",
		name, takes, found), 2)
}

// refuseEmpty refuses a flag with nothing in it: that is most often a variable that is not set, and must not mean every
// message or another server.
func refuseEmpty(c *cli.Context) error {
	for _, f := range c.Command.Flags {
		name := f.Names()[0]
		if !c.IsSet(name) {
			continue
		}
		switch f := f.(type) {
		case *cli.StringFlag:
			if c.String(name) != "" {
				continue
			}
			if len(f.EnvVars) > 0 {
				name += " or " + f.EnvVars[0]
			}
			return cli.Exit(fmt.Sprintf("--%s is empty: give it a value, or leave it out", name), 2)
		case *cli.Uint64Flag:
			if c.Uint64(name) == 0 && name == "seq" {
				return cli.Exit("--seq 0: want the sequence of a message, a whole number from 1", 2)
			}
		}
	}
	return nil
}

func needSubcommand(c *cli.Context, name string) error {
	names := make([]string, 0, len(c.Command.Subcommands))
	for _, sub := range c.Command.Subcommands {
		names = append(names, fmt.Sprintf("`sluice %s %s`", name, sub.Name))
	}
	use := "use " + strings.Join(names, " or ")
	if !c.Args().Present() {
		return cli.Exit(name+" needs a subcommand: "+use, 2)
	}
	return cli.Exit(fmt.Sprintf("%s has no subcommand %q: %s", name, c.Args().First(), use), 2)
}

// flagsFirst moves the flags of a command that takes arguments before them, as the library wants it: `codes 0x58 -o json`
// means `codes -o json 0x58`. All other calls stay as they are. args starts with the program.
func flagsFirst(commands []*cli.Command, args []string) []string {
	var cmd *cli.Command
	at := 1
	for at < len(args) {
		i := slices.IndexFunc(commands, func(c *cli.Command) bool { return c.HasName(args[at]) })
		if i < 0 {
			break
		}
		cmd, commands = commands[i], commands[i].Subcommands
		at++
	}
	if cmd == nil || cmd.ArgsUsage == "" || slices.Contains(args, "--generate-bash-completion") {
		return args
	}
	var flags, words []string
	for rest := args[at:]; len(rest) > 0; {
		word := rest[0]
		n := 1
		switch {
		case word == "--":
			words = append(words, rest[1:]...)
			rest = nil
			continue
		case word == "-" || !strings.HasPrefix(word, "-"):
			words = append(words, word)
		default:
			if takesNext(cmd.Flags, word) {
				n = min(2, len(rest))
			}
			flags = append(flags, rest[:n]...)
		}
		rest = rest[n:]
	}
	if len(words) == 0 {
		return args
	}
	return slices.Concat(args[:at], flags, []string{"--"}, words)
}

// takesNext says whether the value of a flag is the word after it. A flag that is not known takes none, and the library
// reports it.
func takesNext(flags []cli.Flag, word string) bool {
	name := strings.TrimPrefix(strings.TrimPrefix(word, "-"), "-")
	if strings.Contains(name, "=") {
		return false
	}
	for _, f := range flags {
		if slices.Contains(f.Names(), name) {
			d, ok := f.(cli.DocGenerationFlag)
			return ok && d.TakesValue()
		}
	}
	return false
}
