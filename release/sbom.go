package main

import (
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/CycloneDX/cyclonedx-go"
	"github.com/google/uuid"
)

// writeSBOM lists what is inside the programs, as CycloneDX.
func (r *release) writeSBOM(parts []part) error {
	bom := cyclonedx.NewBOM()
	// The same release has the same number, however often it is built.
	bom.SerialNumber = "urn:uuid:" + uuid.NewSHA1(uuid.NameSpaceOID, []byte("writ "+r.version)).String()
	bom.Metadata = &cyclonedx.Metadata{
		Timestamp: r.time.Format(time.RFC3339),
		Component: &cyclonedx.Component{
			BOMRef: "writ", Type: cyclonedx.ComponentTypeApplication, Name: "writ", Version: r.version,
			Licenses: expression([]string{"Apache-2.0"}),
		},
	}
	var components []cyclonedx.Component
	var names []string
	for _, p := range parts {
		_, ids, err := readLicences(p)
		if err != nil {
			return err
		}
		url := packageURL(p)
		names = append(names, url)
		components = append(components, cyclonedx.Component{
			BOMRef: url, PackageURL: url, Type: cyclonedx.ComponentTypeLibrary,
			Name: p.name, Version: p.version, Licenses: expression(ids),
		})
	}
	bom.Components = &components
	bom.Dependencies = &[]cyclonedx.Dependency{{Ref: "writ", Dependencies: &names}}
	return create(filepath.Join(r.out, "writ-"+r.version+".cdx.json"), func(w io.Writer) error {
		return cyclonedx.NewBOMEncoder(w, cyclonedx.BOMFileFormatJSON).SetPretty(true).Encode(bom)
	})
}

func expression(ids []string) *cyclonedx.Licenses {
	return &cyclonedx.Licenses{{Expression: strings.Join(ids, " AND ")}}
}

// packageURL is the name by which scanners for weaknesses know a part.
func packageURL(p part) string {
	url := "pkg:" + p.kind + "/" + strings.ReplaceAll(p.name, "@", "%40")
	if p.version != "" {
		url += "@" + strings.ReplaceAll(p.version, "+", "%2B")
	}
	return url
}
