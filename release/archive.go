package main

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// file is one file of an archive: its name there, its mode, and where it is now.
type file struct {
	name string
	mode int64
	from string
}

// files are those of an archive, by their names.
func (r *release) files(p platform) ([]file, error) {
	files, err := r.texts()
	if err != nil {
		return nil, err
	}
	for _, name := range programs {
		from := r.program(p, name)
		files = append(files, file{filepath.Base(from), 0o755, from})
	}
	files = append(files, file{licencesName, 0o644, filepath.Join(r.out, licencesName)})
	help, err := filesBelow(r.helpFolder())
	files = append(files, help...)
	slices.SortFunc(files, func(a, b file) int { return strings.Compare(a.name, b.name) })
	return files, err
}

// writeArchive writes the archive of a platform: a folder with the programs in it.
func (r *release) writeArchive(p platform) error {
	files, err := r.files(p)
	if err != nil {
		return err
	}
	folder := "writ-" + r.version + "-" + p.String()
	if p.os == "windows" {
		return create(filepath.Join(r.out, folder+".zip"), func(w io.Writer) error {
			return writeZip(w, folder, files, r.time)
		})
	}
	return create(filepath.Join(r.out, folder+".tar.gz"), func(w io.Writer) error {
		packed, err := gzip.NewWriterLevel(w, gzip.BestCompression)
		if err != nil {
			return err
		}
		return errors.Join(writeTar(packed, folder, files, r.time), packed.Close())
	})
}

func writeTar(w io.Writer, folder string, files []file, modified time.Time) error {
	archive := tar.NewWriter(w)
	for _, f := range files {
		info, err := os.Stat(f.from)
		if err != nil {
			return err
		}
		header := &tar.Header{
			Name: path.Join(folder, f.name), Mode: f.mode, Size: info.Size(), ModTime: modified,
			Typeflag: tar.TypeReg, Format: tar.FormatUSTAR,
		}
		if err := archive.WriteHeader(header); err != nil {
			return err
		}
		if err := copyFile(archive, f.from); err != nil {
			return err
		}
	}
	return archive.Close()
}

func writeZip(w io.Writer, folder string, files []file, modified time.Time) error {
	archive := zip.NewWriter(w)
	for _, f := range files {
		header := &zip.FileHeader{Name: path.Join(folder, f.name), Method: zip.Deflate, Modified: modified}
		header.SetMode(os.FileMode(f.mode))
		entry, err := archive.CreateHeader(header)
		if err != nil {
			return err
		}
		if err := copyFile(entry, f.from); err != nil {
			return err
		}
	}
	return archive.Close()
}

func copyFile(w io.Writer, name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(w, f)
	return err
}

// create writes a file whole: one that could not be written is no result.
func create(name string, write func(io.Writer) error) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	if err := errors.Join(write(f), f.Close()); err != nil {
		return errors.Join(err, os.Remove(name))
	}
	return nil
}

// writeTexts adds files whose content is in from, in the order of their names.
func writeTexts(archive *tar.Writer, files []file, modified time.Time) error {
	slices.SortFunc(files, func(a, b file) int { return strings.Compare(a.name, b.name) })
	for _, f := range files {
		header := &tar.Header{
			Name: f.name, Mode: f.mode, Size: int64(len(f.from)), ModTime: modified,
			Typeflag: tar.TypeReg, Format: tar.FormatUSTAR,
		}
		if err := archive.WriteHeader(header); err != nil {
			return err
		}
		if _, err := io.WriteString(archive, f.from); err != nil {
			return err
		}
	}
	return nil
}

// writeFolder writes the files of a folder, in the order of their names.
func writeFolder(w io.Writer, folder string, modified time.Time) error {
	files, err := filesBelow(folder)
	if err != nil {
		return err
	}
	return writeTar(w, "", files, modified)
}

// filesBelow are the files of a folder and of those in it, in the order of their names.
func filesBelow(folder string) (files []file, err error) {
	err = filepath.WalkDir(folder, func(at string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(folder, at)
		files = append(files, file{filepath.ToSlash(name), 0o644, at})
		return err
	})
	return files, err
}
