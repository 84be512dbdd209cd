// Package web holds the dashboard's files for the server to serve: scripts/web builds
// them from src into dist. Without them the server serves a page that says how to
// get them. That page also ends sign-ins that began elsewhere: it exchanges the code
// that the callback left in its address, and says who is signed in.
//
// It also holds Swagger UI, compressed, which scripts/swagger-ui fetches.
package web

import (
	"compress/gzip"
	"embed"
	"io"
	"io/fs"
)

//go:embed swagger-ui/*.gz
var viewer embed.FS

// SwaggerUI reads a file of the viewer of the API documentation.
func SwaggerUI(name string) ([]byte, error) {
	file, err := viewer.Open("swagger-ui/" + name + ".gz")
	if err != nil {
		return nil, err
	}
	defer file.Close()
	unzipped, err := gzip.NewReader(file)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(unzipped)
}

//go:embed placeholder
var placeholder embed.FS

// Placeholder is the pages of a server without the dashboard, index.html at the root.
func Placeholder() fs.FS { return within(placeholder, "placeholder") }

// The folder always has a marker, so that the server builds without the dashboard.
//
//go:embed all:dist
var dist embed.FS

// Nonce is what stands in the dashboard's index.html for the nonce of its content
// security policy, which is new for each request.
const Nonce = "WRIT_NONCE"

// Dashboard is the built dashboard, index.html at the root and compressed files
// under assets; nil: this build has none.
func Dashboard() fs.FS {
	files := within(dist, "dist")
	if _, err := fs.Stat(files, "index.html"); err != nil {
		return nil
	}
	return files
}

func within(files embed.FS, folder string) fs.FS {
	sub, err := fs.Sub(files, folder)
	if err != nil {
		panic(err) // the patterns above name the folders
	}
	return sub
}
