package api_test

import (
	"context"

	"writ/client"
	"writ/internal/audit"
)

func (w *changes) startDevice() func(context.Context) (string, error) {
	return inLog("", func(ctx context.Context) error {
		_, err := w.Public.StartDevice(ctx, client.DeviceStart{})
		return err
	})
}

// collectDevice is recorded where the key is good; the session that comes with it
// in the system's log.
func (w *changes) collectDevice() func(context.Context) (string, error) {
	code := w.ApprovedDevice(w.owner, w.org)
	return inLog(w.org, func(ctx context.Context) error {
		_, err := w.Public.PollDevice(ctx, code.DeviceCode, client.WritClient)
		return err
	})
}

func (w *changes) approveDevice() func(context.Context) (string, error) {
	code := w.StartDevice(client.DeviceStart{})
	return inLog(audit.System, func(ctx context.Context) error {
		return w.owner.ApproveDevice(ctx, client.DeviceApproval{UserCode: code.UserCode, OrganizationID: w.org})
	})
}

func (w *changes) denyDevice() func(context.Context) (string, error) {
	code := w.StartDevice(client.DeviceStart{})
	return inLog(audit.System, func(ctx context.Context) error { return w.owner.DenyDevice(ctx, code.UserCode) })
}
