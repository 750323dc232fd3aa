import { join } from 'node:path';
import type { Tally } from '../tally.js';
import { soakApprovals } from './approvals.js';
import { soakBalance } from './balance.js';
import { soakCutPoints } from './cut-points.js';
import { soakKills } from './kills.js';
import { soakStreams } from './streams.js';

/** The extent of each part. */
export interface RunRounds {
  readonly cuts: number;
  readonly runs: number;
  readonly streamCuts: number;
}

/** Kills the system while it executes runs, cuts streams, and spends a balance concurrently. */
export async function soakRuns(rounds: RunRounds, home: string, tally: Tally): Promise<void> {
  await soakBalance(rounds.runs, join(home, 'balance'), tally);
  await soakCutPoints(rounds.cuts, join(home, 'cuts'), tally);
  await soakApprovals(Math.min(rounds.cuts, 30), join(home, 'approvals'), tally);
  await soakKills(rounds.runs, join(home, 'kills'), tally);
  await soakStreams(rounds.streamCuts, join(home, 'streams'), tally);
}
