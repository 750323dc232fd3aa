import { type Fault, MAX_FAULTS } from '@commonplace/kit/errors';
import type { Warning } from '../html/sanitise.js';

/** Collects the faults and warnings of one parse of document JSON, up to a maximum of each. */
export function createReport() {
  const faults: Fault[] = [];
  const warnings = new Map<string, Warning>();
  return {
    faults,
    fault(param: string, code: string, message: string): void {
      if (faults.length < MAX_FAULTS) faults.push({ param, code, message });
    },
    warn(code: string, message: string): void {
      if (warnings.size < 20) warnings.set(message, { code, message });
    },
    warnings: (): Warning[] => [...warnings.values()],
  };
}

export type Report = ReturnType<typeof createReport>;
