package expression

import "time"

// checkZone accepts the time zones that CEL reads.
func checkZone(zone string) error {
	if _, err := time.Parse("-07:00", zone); err == nil {
		return nil
	}
	if _, err := time.Parse("07:00", zone); err == nil {
		return nil
	}
	if _, err := time.LoadLocation(zone); err != nil || zone == "Local" {
		return failure(`must be a time zone such as "Europe/Berlin" or "+02:00"`)
	}
	return nil
}
