import { type Checked, checkKilled, checkLink } from '@commonplace/acceptance/dist/src/links/check.js';
import { startLinkedMesh } from '@commonplace/acceptance/dist/src/links/mesh.js';
import { createProbes } from '@commonplace/acceptance/dist/src/links/probes.js';
import { FAULTS } from '@commonplace/acceptance/dist/src/links/proxies.js';
import type { Tally } from './tally.js';

/**
 * Deadline of a request in milliseconds. It is long enough for a busy machine, and short enough to test all links in
 * ten minutes.
 */
const DEADLINE_MS = 2000;

/**
 * Breaks every link of a mesh in every way, and kills each service, `rounds` times. Checks that each answer arrives at
 * most half a second after its deadline, that it is a success or 503 with `Retry-After`, and that everything works
 * again once the link is restored.
 */
export async function soakLinks(rounds: number, home: string, tally: Tally): Promise<void> {
  const mesh = await startLinkedMesh(home, DEADLINE_MS);
  const all: Checked[] = [];
  const note = (name: string, checked: Checked) => {
    tally.check(name, checked.faults);
    all.push(checked);
  };
  try {
    const probes = await createProbes(mesh);
    for (let round = 1; round <= rounds; round++) {
      const began = performance.now();
      for (const link of mesh.links) {
        for (const fault of FAULTS) note(`${link.name}: ${fault}`, await checkLink(mesh, probes, link, fault));
      }
      for (const service of mesh.services) note(`${service} is killed`, await checkKilled(mesh, probes, service));
      console.log(`links ${round}/${rounds}: ${Math.round((performance.now() - began) / 1000)} s`);
    }
  } finally {
    await mesh.stop();
  }
  summarise(mesh.links.length, all);
}

function summarise(links: number, all: readonly Checked[]): void {
  const most = (read: (checked: Checked) => number) => Math.round(Math.max(...all.map(read)));
  const sum = (read: (checked: Checked) => number) => all.reduce((total, checked) => total + read(checked), 0);
  console.log(
    `\n${links} links, ${all.length} faults: ${sum(({ asked }) => asked)} requests, ` +
      `${sum(({ refused }) => refused)} answered 503, slowest ${most(({ slowestMs }) => slowestMs)} ms ` +
      `(deadline ${DEADLINE_MS}), well again after ${most(({ healedMs }) => healedMs)} ms at the most`,
  );
}
