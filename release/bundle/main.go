// Command bundle unpacks the container image of a release for an OCI runtime, such as crun, as an engine does before it
// runs one: the file system of its layers, and a config.json that runs it as the image says, read-only and without any
// capability. Tests run the image with it, where there is no engine.
package main

import (
	"archive/tar"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/match"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/partial"
)

func main() {
	image := flag.String("image", "", "the tarball of an OCI layout")
	out := flag.String("out", "", "the folder of the bundle; it must not exist")
	flag.Parse()
	if err := unpack(*image, *out); err != nil {
		fmt.Fprintln(os.Stderr, "bundle:", err)
		os.Exit(1)
	}
}

func unpack(name, out string) (err error) {
	if err := os.Mkdir(out, 0o755); err != nil {
		return err
	}
	folder := filepath.Join(out, "layout")
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := extract(f, folder); err != nil {
		return fmt.Errorf("the layout: %w", err)
	}
	image, err := imageOfThisMachine(folder)
	if err != nil {
		return err
	}
	files := mutate.Extract(image)
	defer files.Close()
	if err := extract(files, filepath.Join(out, "rootfs")); err != nil {
		return fmt.Errorf("the files: %w", err)
	}
	described, err := image.ConfigFile()
	if err != nil {
		return err
	}
	return errors.Join(writeConfig(out, described.Config), os.RemoveAll(folder))
}

// imageOfThisMachine is the one image for this processor.
func imageOfThisMachine(folder string) (v1.Image, error) {
	index, err := layout.ImageIndexFromPath(folder)
	if err != nil {
		return nil, err
	}
	wanted := match.Platforms(v1.Platform{OS: "linux", Architecture: runtime.GOARCH})
	indexes, err := partial.FindIndexes(index, func(v1.Descriptor) bool { return true })
	if err != nil || len(indexes) != 1 {
		return nil, fmt.Errorf("%d indexes, want 1: %w", len(indexes), err)
	}
	images, err := partial.FindImages(indexes[0], wanted)
	if err != nil || len(images) != 1 {
		return nil, fmt.Errorf("%d images for this machine, want 1: %w", len(images), err)
	}
	return images[0], nil
}

// extract unpacks files and folders, with their owners. Anything else, or a name that leads elsewhere, is refused.
func extract(from io.Reader, folder string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	archive := tar.NewReader(from)
	for {
		header, err := archive.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if !filepath.IsLocal(header.Name) {
			return fmt.Errorf("%q leads elsewhere", header.Name)
		}
		if err := extractOne(archive, header, filepath.Join(folder, header.Name)); err != nil {
			return fmt.Errorf("%s: %w", header.Name, err)
		}
	}
}

func extractOne(content io.Reader, header *tar.Header, at string) error {
	mode := header.FileInfo().Mode()
	switch header.Typeflag {
	case tar.TypeDir:
		if err := os.MkdirAll(at, 0o755); err != nil {
			return err
		}
	case tar.TypeReg:
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			return err
		}
		f, err := os.OpenFile(at, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		_, err = io.Copy(f, content)
		if err := errors.Join(err, f.Close()); err != nil {
			return err
		}
	default:
		return fmt.Errorf("is neither a file nor a folder")
	}
	if os.Getuid() == 0 {
		if err := os.Chown(at, header.Uid, header.Gid); err != nil {
			return err
		}
	}
	return os.Chmod(at, mode)
}

type object = map[string]any

func mount(at, kind, source string, options ...string) object {
	return object{"destination": at, "type": kind, "source": source, "options": append([]string{}, options...)}
}

// writeConfig writes how a runtime runs the image. The network is that of whoever starts it.
func writeConfig(out string, c v1.Config) error {
	user, group, _ := strings.Cut(c.User, ":")
	uid, err := strconv.Atoi(user)
	if err != nil {
		return fmt.Errorf("the user %q is no number, so that nobody can tell that it is not root: %w", c.User, err)
	}
	gid, err := strconv.Atoi(group)
	if err != nil {
		return fmt.Errorf("the group of %q is no number: %w", c.User, err)
	}
	data := filepath.Join(out, "data")
	if err := errors.Join(os.Mkdir(data, 0o700), os.Chown(data, uid, gid)); err != nil {
		return err
	}
	config := object{
		"ociVersion": "1.0.2",
		"process": object{
			"user": object{"uid": uid, "gid": gid}, "args": append(c.Entrypoint, c.Cmd...), "env": c.Env,
			"cwd": c.WorkingDir, "noNewPrivileges": true, "capabilities": object{},
		},
		"root": object{"path": "rootfs", "readonly": true},
		"mounts": []object{
			mount("/proc", "proc", "proc"), mount("/dev", "tmpfs", "tmpfs", "nosuid", "mode=755"),
			mount("/tmp", "tmpfs", "tmpfs", "nosuid", "nodev", "noexec"),
			mount("/data", "bind", data, "bind", "nosuid", "nodev", "noexec"),
		},
		"linux": object{"namespaces": []object{{"type": "mount"}, {"type": "pid"}, {"type": "ipc"}, {"type": "uts"}}},
	}
	text, err := json.MarshalIndent(config, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(out, "config.json"), text, 0o644)
}
