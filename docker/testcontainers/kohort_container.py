"""Container of kohort for testcontainers-python, to be copied into your tests. See docs/how-to/containers.md."""

from __future__ import annotations

import secrets
import shlex
from typing import Any

from testcontainers.core.container import DockerContainer
from testcontainers.core.waiting_utils import wait_for_logs

FIRST_PORT, CONTROL_PORT = 9092, 9099
SCRIPT = "/dev/shm/start"
READY_WITHIN_S = 60


class KohortContainer(DockerContainer):
    """`with KohortContainer() as kafka:`, and clients connect to `kafka.bootstrap`.

    The mapped ports are known only when the container runs, and clients must receive them as addresses. So the
    container waits for a script, which names them.
    """

    def __init__(self, image: str = "kohort", *options: str, nodes: int = 1, **more: Any) -> None:
        """Define the container.

        Args:
            options: Further options of `kohort serve`, such as `"--set", "group.max.size=2"`.
            more: Arguments of testcontainers' own class.
        """
        super().__init__(image, **more)
        self._more_options = options
        self._broker_ports = [FIRST_PORT + index for index in range(nodes)]
        self.token = secrets.token_hex()  # for the control address, as `Authorization: Bearer TOKEN`
        self.with_exposed_ports(*self._broker_ports, CONTROL_PORT)
        self.with_env("KOHORT_CONTROL_TOKEN", self.token)
        self.with_kwargs(entrypoint=["sh", "-c", f"until [ -f {SCRIPT} ]; do sleep 0.1; done; . {SCRIPT}"])

    @property
    def bootstrap(self) -> str:
        """HOST:PORT of each node, separated by commas, as reachable from this machine."""
        host = self.get_container_host_ip()
        return ",".join(f"{host}:{self.get_exposed_port(port)}" for port in self._broker_ports)

    @property
    def control(self) -> str:
        """Control address, for HTTP and for KOHORT_CONTROL."""
        return f"http://{self.get_container_host_ip()}:{self.get_exposed_port(CONTROL_PORT)}"

    def start(self) -> KohortContainer:
        """Start the container, and wait until the broker serves."""
        super().start()
        serve = ["kohort", "serve", "--profile", "test", "--listen", f"0.0.0.0:{FIRST_PORT}"]
        serve += ["--nodes", str(len(self._broker_ports)), "--advertise", self.bootstrap]
        serve += ["--control", f"0.0.0.0:{CONTROL_PORT}", "--control-host", self.get_container_host_ip()]
        script = f"exec {shlex.join([*serve, *self._more_options])}"
        # renamed when it is complete, so that the container never runs a partial script
        self.exec(["sh", "-c", f'printf %s "$1" > {SCRIPT}.new && mv {SCRIPT}.new {SCRIPT}', "sh", script])
        wait_for_logs(self, "READY bootstrap=", timeout=READY_WITHIN_S)
        return self
