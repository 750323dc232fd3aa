import type { Server } from 'node:http';

/**
 * Makes a server listen on an address. Rejects with the system's error, that of `listen` also for a host name that has
 * no address, so that a start reports it as one.
 */
export async function listenOn(server: Server, host: string, port: number): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      reject(
        error.syscall === 'getaddrinfo' ? Object.assign(error, { syscall: 'listen', address: host, port }) : error,
      );
    });
    server.listen(port, host, resolve);
  });
}
