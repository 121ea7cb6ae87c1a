package config

import "log/slog"

// masked stands where a secret would be.
const masked = "********"

// Secret is a password. It is written as {env: NAME}, {file: PATH} or a
// literal, and every way of printing it hides the value.
type Secret struct {
	// Name of the environment variable that holds the secret.
	Env string `yaml:"env"`
	// File that holds the secret, relative to the configuration file; one trailing line break is dropped.
	File string `yaml:"file"`

	value string
	plain bool // written into the file itself
}

// Literal is a secret with a known value, as tests and programs build it.
func Literal(value string) Secret { return Secret{value: value} }

// Value is the secret itself; empty before [Load] has resolved it.
func (s Secret) Value() string { return s.value }

// IsZero says whether the secret was left out.
func (s Secret) IsZero() bool { return s == Secret{} }

// UnmarshalText takes a literal; an empty one is none.
func (s *Secret) UnmarshalText(text []byte) error {
	*s = Secret{value: string(text), plain: len(text) > 0}
	return nil
}

// MarshalYAML writes where the secret comes from, never the secret.
func (s Secret) MarshalYAML() (any, error) {
	switch {
	case s.Env != "":
		return map[string]string{"env": s.Env}, nil
	case s.File != "":
		return map[string]string{"file": s.File}, nil
	case s.value != "":
		return masked, nil
	default:
		return "", nil
	}
}

// String hides the value.
func (s Secret) String() string {
	switch {
	case s.Env != "":
		return "env " + s.Env
	case s.File != "":
		return "file " + s.File
	case s.value != "":
		return masked
	default:
		return ""
	}
}

// GoString hides the value from %#v.
func (s Secret) GoString() string { return "config.Secret(" + s.String() + ")" }

// LogValue hides the value from slog.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }
