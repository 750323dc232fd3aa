/** Reports the progress of long operations. */
export interface Progress {
  /** Starts a step. It is complete when the amounts added reach `total`. */
  step(name: string, total?: number): void;
  /** Adds to the completed amount of the step. */
  add(amount: number): void;
  end(): void;
}

export const silentProgress: Progress = { step: () => {}, add: () => {}, end: () => {} };

const WIDTH = 28;
/** Minimum milliseconds between two redraws of the bar on a terminal, and between two lines elsewhere. */
const [PICTURE_MS, LINE_MS] = [100, 5000];

/**
 * Creates the display of progress. On a terminal it draws a bar; elsewhere it prints a line per step and one every five
 * seconds.
 */
export function createProgress(stream: NodeJS.WriteStream): Progress {
  let [name, done, shown] = ['', 0, 0];
  let total: number | undefined;
  const terminal = stream.isTTY === true;

  function draw(): void {
    shown = performance.now();
    stream.write(terminal ? `\r\x1b[2K${name} ${progressBar(done, total)}` : `${name} ${percentOf(done, total)}\n`);
  }
  function close(): void {
    if (name !== '' && terminal) stream.write('\n');
  }

  return {
    step(next, of) {
      if (name !== '' && terminal) draw();
      close();
      [name, done, total] = [next, 0, of];
      if (terminal) draw();
      else stream.write(`${name} …\n`);
      shown = performance.now();
    },
    add(amount) {
      done += amount;
      if (performance.now() - shown >= (terminal ? PICTURE_MS : LINE_MS)) draw();
    },
    end() {
      if (name !== '' && terminal) draw();
      close();
      name = '';
    },
  };
}

function percentOf(done: number, total: number | undefined): string {
  return total === undefined || total === 0 ? '' : `${Math.min(100, Math.floor((100 * done) / total))} %`;
}

function progressBar(done: number, total: number | undefined): string {
  if (total === undefined || total === 0) return '…';
  const full = Math.min(WIDTH, Math.floor((WIDTH * done) / total));
  return `[${'#'.repeat(full)}${' '.repeat(WIDTH - full)}] ${percentOf(done, total)}`;
}
