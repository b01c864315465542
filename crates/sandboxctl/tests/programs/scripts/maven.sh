# A project of Maven, packaged offline with the plugins of the distribution.
set -e
mkdir -p maven/src/main/java/p maven/src/test/java/p && cd maven
cat >pom.xml <<'END'
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>p</groupId>
  <artifactId>adder</artifactId>
  <version>1</version>
  <properties>
    <maven.compiler.source>11</maven.compiler.source>
    <maven.compiler.target>11</maven.compiler.target>
    <project.build.sourceEncoding>UTF-8</project.build.sourceEncoding>
  </properties>
  <dependencies>
    <dependency>
      <groupId>junit</groupId>
      <artifactId>junit</artifactId>
      <version>4.x</version>
      <scope>test</scope>
    </dependency>
  </dependencies>
</project>
END
cat >src/main/java/p/Adder.java <<'END'
package p;

public class Adder {
    public static int add(int a, int b) {
        return a + b;
    }
}
END
cat >src/test/java/p/AdderTest.java <<'END'
package p;

import static org.junit.Assert.assertEquals;

import org.junit.Ignore;
import org.junit.Test;

public class AdderTest {
    @Test
    public void adds() {
        assertEquals(3, Adder.add(1, 2));
    }

    @Ignore
    @Test
    public void isLeftOut() {}
}
END
mvn -B -o -Dmaven.repo.local=/usr/share/maven-repo package >out.txt 2>&1 || { cat out.txt >&2; exit 1; }
grep -E 'Tests run|BUILD' out.txt | sed -E 's/Time elapsed: [0-9.]+ s/TIME/'
python3 -m zipfile -l target/adder-1.jar | grep -o 'p/Adder.class'
