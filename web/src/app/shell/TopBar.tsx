import { Link } from "@tanstack/react-router";
import { ArrowLeft, Menu as MenuIcon, Pause, Play, Search } from "lucide-react";
import { useLiveState } from "../../live/useLive";
import { Button } from "../../ui/Button";
import { clock } from "../../ui/format";
import { words } from "../../words/en";
import { AccountMenu } from "./AccountMenu";
import { usePlace } from "./page";

/** TopBar says where one is and whether the page is live, and opens search and account. */
export function TopBar({ onMenu, onSearch }: { onMenu: () => void; onSearch: () => void }) {
  return (
    <header className="top-bar">
      <Button look="quiet" icon className="menu-button" onClick={onMenu} aria-label={words.shell.menu}>
        <MenuIcon size={18} aria-hidden />
      </Button>
      <Breadcrumbs />
      <span className="grow" />
      <LiveState />
      <Button look="quiet" onClick={onSearch} aria-keyshortcuts="Control+K">
        <Search size={16} aria-hidden />
        <span className="hidden-text">{words.shell.search}</span>
        <kbd className="wide-only" aria-hidden>
          Ctrl K
        </kbd>
      </Button>
      <AccountMenu />
    </header>
  );
}

function Breadcrumbs() {
  const { trail } = usePlace();
  const up = trail.at(-2);
  return (
    <nav className="crumbs" aria-label={words.shell.breadcrumbs}>
      {up?.to && (
        <Link className="crumb-back" to={up.to} aria-label={words.shell.back}>
          <ArrowLeft size={18} aria-hidden />
        </Link>
      )}
      <ol className="row">
        {trail.map((step, i) => (
          <li key={`${i} ${step.name}`} className="crumb one-line">
            {step.to && i < trail.length - 1 ? (
              <Link to={step.to}>{step.name}</Link>
            ) : (
              <span aria-current="page">{step.name}</span>
            )}
          </li>
        ))}
      </ol>
    </nav>
  );
}

function LiveState() {
  const { state, paused, setPaused } = useLiveState();
  const says =
    state.is === "live"
      ? paused
        ? words.shell.live.paused
        : words.shell.live.live
      : state.is === "away"
        ? words.shell.live.away(clock(state.since))
        : words.shell.live[state.is];
  return (
    <span className="row live-state" data-state={paused ? "paused" : state.is}>
      <span className="live-dot" aria-hidden />
      <span className="small wide-only" role="status">
        {says}
      </span>
      <Button
        look="quiet"
        icon
        onClick={() => setPaused(!paused)}
        aria-label={paused ? words.shell.live.resume : words.shell.live.pause}
      >
        {paused ? <Play size={14} aria-hidden /> : <Pause size={14} aria-hidden />}
      </Button>
    </span>
  );
}
