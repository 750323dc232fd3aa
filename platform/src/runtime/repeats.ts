import { createPeriodic, type Periodic } from '@commonplace/kit/jobs';
import type { Log } from '@commonplace/kit/log';
import type { Store } from '@commonplace/kit/store';
import { REPEAT_MS, repeatMigrations } from './migrations.js';
import type { ServiceModule } from './module.js';

/**
 * Repeats migrations that ended recently, in stores that other processes write to: while an upgrade replaces the pods of
 * a mesh, those of the previous release create records that lack what the migration has added to all others.
 */
export function startRepeats(
  modules: readonly ServiceModule[],
  storeOf: (module: ServiceModule) => Store,
  log: Log,
): Periodic {
  const shared = modules.flatMap(({ migrations = [], ...module }) => {
    const store = module.stores && migrations.length > 0 ? storeOf(module) : undefined;
    return store === undefined || store.isExclusive ? [] : [{ service: module.name, store, migrations }];
  });
  const periodic = createPeriodic({
    name: 'migration repeats',
    everyMs: REPEAT_MS,
    log,
    async run(signal) {
      for (const { service, store, migrations } of shared) {
        if (signal.aborted) return;
        const repeated = await repeatMigrations(store, migrations);
        if (repeated.length > 0) log.info('migrations.repeated', { of: service, migrations: repeated });
      }
    },
  });
  if (shared.length > 0) periodic.begin();
  return periodic;
}
