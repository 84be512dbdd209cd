import { Dialog as Radix } from "radix-ui";
import type { ReactNode } from "react";
import { useGiveBack } from "./giveBack";
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
  const giveBack = useGiveBack(open);
  return (
    <Radix.Root open={open} onOpenChange={(now) => !now && onClose()}>
      <Radix.Portal>
        <Radix.Overlay className="scrim" />
        <Radix.Content className="drawer" aria-describedby={undefined} {...giveBack}>
          <Radix.Title className="hidden-text">{title}</Radix.Title>
          {children}
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}
