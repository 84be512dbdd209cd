package main

import (
	"archive/tar"
	"bytes"
	"encoding/pem"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// imageUser is who the programs run as: a number, so that Kubernetes can tell that it is not root.
const imageUser = 65532

// imageConfig says how the image runs. deploy/Dockerfile says the same, and a test compares them.
func imageConfig() v1.Config {
	user := strconv.Itoa(imageUser)
	return v1.Config{
		User: user + ":" + user, WorkingDir: "/data",
		Entrypoint: []string{"/usr/bin/writd"}, Cmd: []string{"serve"},
		Env:          []string{"PATH=/usr/bin", "HOME=/data", "WRIT_DATA_DIR=/data", "WRIT_LISTEN=0.0.0.0"},
		ExposedPorts: map[string]struct{}{"8080/tcp": {}},
		Volumes:      map[string]struct{}{"/data": {}},
		Healthcheck: &v1.HealthConfig{
			Test: []string{"CMD", "/usr/bin/writd", "health"}, Interval: 10 * time.Second,
			Timeout: 5 * time.Second, StartPeriod: 30 * time.Second, Retries: 3,
		},
		StopSignal: "SIGTERM",
	}
}

// writeImage writes one image for all Linux platforms as a tarball of an OCI layout.
func (r *release) writeImage(platforms []platform) error {
	folder := filepath.Join(r.work, "image")
	var index v1.ImageIndex = mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, p := range platforms {
		if p.os != "linux" {
			continue
		}
		image, err := r.image(p)
		if err != nil {
			return err
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add:        image,
			Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: p.os, Architecture: p.arch}},
		})
	}
	at, err := layout.Write(folder, empty.Index)
	if err != nil {
		return err
	}
	err = at.AppendIndex(index, layout.WithAnnotations(map[string]string{
		"org.opencontainers.image.ref.name": r.version,
		"io.containerd.image.name":          "docker.io/library/writ:" + r.version,
	}))
	if err != nil {
		return err
	}
	return create(filepath.Join(r.out, "writ-"+r.version+"-image.tar"), func(w io.Writer) error {
		return writeFolder(w, folder, r.time)
	})
}

func (r *release) image(p platform) (v1.Image, error) {
	content, err := r.imageFiles(p)
	if err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(content)), nil
	}, tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, err
	}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	if image, err = mutate.AppendLayers(image, layer); err != nil {
		return nil, err
	}
	described, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	described = described.DeepCopy()
	described.OS, described.Architecture, described.Config = p.os, p.arch, imageConfig()
	described.Created = v1.Time{Time: r.time}
	described.History = []v1.History{{Created: v1.Time{Time: r.time}, CreatedBy: "make release"}}
	described.Config.Labels = map[string]string{
		"org.opencontainers.image.title": "writ", "org.opencontainers.image.version": r.version,
		"org.opencontainers.image.licenses": "Apache-2.0",
	}
	return mutate.ConfigFile(image, described)
}

// imageFiles is the image's file system: the programs, the certificate authorities of the web, and a folder for data.
// There is no shell, and nothing else that could be run.
func (r *release) imageFiles(p platform) ([]byte, error) {
	var content bytes.Buffer
	archive := tar.NewWriter(&content)
	for _, h := range []tar.Header{
		{Name: "data/", Mode: 0o700, Uid: imageUser, Gid: imageUser},
		{Name: "dev/", Mode: 0o755}, // on these runtimes mount something, and cannot make them
		{Name: "proc/", Mode: 0o755}, {Name: "sys/", Mode: 0o755}, {Name: "etc/", Mode: 0o755},
		{Name: "etc/ssl/", Mode: 0o755}, {Name: "etc/ssl/certs/", Mode: 0o755},
		{Name: "tmp/", Mode: 0o1777}, {Name: "usr/", Mode: 0o755}, {Name: "usr/bin/", Mode: 0o755},
		{Name: "usr/share/", Mode: 0o755}, {Name: "usr/share/writ/", Mode: 0o755},
	} {
		h.Typeflag, h.ModTime, h.Format = tar.TypeDir, r.time, tar.FormatUSTAR
		if err := archive.WriteHeader(&h); err != nil {
			return nil, err
		}
	}
	user := strconv.Itoa(imageUser)
	files := []file{
		{"etc/passwd", 0o644, "root:x:0:0::/:/none\nwrit:x:" + user + ":" + user + "::/data:/none\n"},
		{"etc/hosts", 0o644, "127.0.0.1 localhost\n::1 localhost\n"}, // for runtimes that bring none
		{"etc/group", 0o644, "root:x:0:\nwrit:x:" + user + ":\n"},
		{"etc/ssl/certs/ca-certificates.crt", 0o644, authorities()},
	}
	for name, from := range r.imagePrograms(p) {
		text, err := os.ReadFile(from)
		if err != nil {
			return nil, err
		}
		mode := int64(0o644)
		if strings.HasPrefix(name, "usr/bin/") {
			mode = 0o755
		}
		files = append(files, file{name, mode, string(text)})
	}
	if err := writeTexts(archive, files, r.time); err != nil {
		return nil, err
	}
	return content.Bytes(), archive.Close()
}

// imagePrograms are the programs, the examples and the licences, by their names in the image.
func (r *release) imagePrograms(p platform) map[string]string {
	const share = "usr/share/writ/"
	return map[string]string{
		"usr/bin/writd":         r.program(p, "writd"),
		"usr/bin/writ":          r.program(p, "writ"),
		"usr/bin/writ-client":   r.program(p, "writ-client"),
		share + "payments.yaml": filepath.Join(r.source, "examples/payments.yaml"),
		share + "rent.yaml":     filepath.Join(r.source, "examples/rent.yaml"),
		share + "LICENSE":       filepath.Join(r.source, "LICENSE"),
		share + licencesName:    filepath.Join(r.out, licencesName),
	}
}

// authorities are those that browsers trust, from a module, so that they are the same in every build. Those that are
// trusted within limits are left out, because a file cannot tell the limits.
func authorities() string {
	var text strings.Builder
	for root := range bundle.Roots() {
		if root.Constraint != nil {
			continue
		}
		text.Write(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}))
	}
	return text.String()
}
