import type { CallOptions, Client } from '@commonplace/kit/rpc';
import type { ReaderService } from '@commonplace/proto/resources/v1/reader_service.js';

/** Milliseconds for which views are counted before they are reported. */
const REPORT_MS = 5000;

/** Counts page views. Reports them at intervals and once more on close. */
export interface Views {
  add(publicationId: string): void;
  close(): Promise<void>;
}

export function createViews(reader: Pick<Client<ReaderService>, 'countViews'>, call: () => CallOptions): Views {
  let counted = new Map<string, number>();
  let timer: NodeJS.Timeout | undefined;

  const report = async () => {
    timer = undefined;
    const items = [...counted].map(([publicationId, views]) => ({ publicationId, views }));
    counted = new Map();
    // A failed report is not retried, because losing counts is harmless, but counting twice is not.
    if (items.length > 0) await reader.countViews({ items }, call()).catch(() => {});
  };

  return {
    add(publicationId) {
      counted.set(publicationId, (counted.get(publicationId) ?? 0) + 1);
      timer ??= setTimeout(report, REPORT_MS).unref();
    },
    close() {
      clearTimeout(timer);
      return report();
    },
  };
}
