import type { Bench, Measured } from '../bench.js';
import { type Contestant, compare } from '../measure.js';
import type { Row } from '../row.js';
import { contestantOf, costOf } from './telemetry.js';

/** Measures the processor time of the access log, for a line per request and for one in ten requests. */
export async function measureAccessLog(bench: Bench): Promise<Row> {
  const started: Measured[] = [];
  const start = async (name: string, share: string): Promise<Contestant> => {
    const settings = { COMMONPLACE_ACCESS_LOG: share, COMMONPLACE_LOG_LEVEL: 'info' };
    const measured = await bench.start(name, { settings });
    started.push(measured);
    return contestantOf(name, measured);
  };
  try {
    const off = await start('access log off', 'off');
    const tenth = await start('access log of 10 %', '0.1');
    const on = await start('access log on', 'on');
    const figures = await compare([off, tenth, on], bench.pace, bench.say);
    return { figures, checks: [costOf(figures, 1, 1.1), costOf(figures, 2, 1.25)], notes: [] };
  } finally {
    for (const { subject } of started) await subject.stop();
  }
}
