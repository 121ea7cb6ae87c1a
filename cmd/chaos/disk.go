package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
)

// disk is where the NATS server stores, and how it becomes full: a small file system of its own that a ballast file
// fills, or, where that cannot be mounted, a quota on the size of files.
type disk struct {
	dir     string
	mounted bool
	server  *process
}

const (
	diskSize     = "1g"
	ballastFile  = "ballast"
	ballastBlock = 1 << 20
)

// newDisk mounts the file system when it may.
func newDisk(ctx context.Context, dir string) (*disk, error) {
	d := &disk{dir: dir}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("disk: %w", err)
	}
	if os.Geteuid() == 0 {
		d.mounted = exec.CommandContext(ctx, "mount", "-t", "tmpfs", "-o", "size="+diskSize, "tmpfs", dir).Run() == nil
	}
	return d, nil
}

func (d *disk) store() string { return filepath.Join(d.dir, "store") }

// how names the way.
func (d *disk) how() string {
	if d.mounted {
		return "tmpfs"
	}
	return "file-size quota"
}

// fill leaves no room.
func (d *disk) fill() error {
	if !d.mounted {
		d.server.signal(syscall.SIGUSR1, false)
		return nil
	}
	file, err := os.Create(filepath.Join(d.dir, ballastFile))
	if err != nil {
		return fmt.Errorf("disk: %w", err)
	}
	defer func() { _ = file.Close() }()
	block := make([]byte, ballastBlock)
	for size := ballastBlock; size > 0; size /= 2 {
		for err = nil; err == nil; {
			_, err = file.Write(block[:size])
		}
		if !errors.Is(err, syscall.ENOSPC) {
			return fmt.Errorf("disk: filling it: %w", err)
		}
	}
	return nil
}

// free makes room again.
func (d *disk) free() error {
	if !d.mounted {
		d.server.signal(syscall.SIGUSR2, false)
		return nil
	}
	return os.Remove(filepath.Join(d.dir, ballastFile))
}

// close takes the file system away; with save its files are copied to a folder beside it first.
func (d *disk) close(save bool) error {
	if !d.mounted {
		return nil
	}
	ctx := context.Background()
	if save {
		if err := exec.CommandContext(ctx, "cp", "-a", d.store(), d.dir+"-saved").Run(); err != nil {
			return fmt.Errorf("disk: saving %s: %w", d.store(), err)
		}
	}
	if err := exec.CommandContext(ctx, "umount", d.dir).Run(); err != nil {
		return fmt.Errorf("disk: umount %s: %w", d.dir, err)
	}
	d.mounted = false
	return nil
}
