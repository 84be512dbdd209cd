import { Dialog as Radix } from "radix-ui";
import type { ReactNode } from "react";
import "./overlay.css";

/** Drawer slides in from the side, above the page. */
export function Drawer({
  open,
  onClose,
  title,
  children,
}: {
  open: boolean;
  onClose: () => void;
  title: string;
  children: ReactNode;
}) {
  return (
    <Radix.Root open={open} onOpenChange={(now) => !now && onClose()}>
      <Radix.Portal>
        <Radix.Overlay className="scrim" />
        <Radix.Content className="drawer" aria-describedby={undefined}>
          <Radix.Title className="hidden-text">{title}</Radix.Title>
          {children}
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}
